// @ts-check
/**
 * Serve by a file of settings: `node main.mjs settings.json`. Writes `ready <address>`, and ends with SIGTERM, or with the
 * other end of its standard input where the settings say `tied`.
 */

import { readFileSync } from "node:fs";

import { Refused } from "./refusals.mjs";
import { Service, serve } from "./service.mjs";

const LAST_MS = 500;

const service = new Service(JSON.parse(readFileSync(process.argv[2], "utf-8")));
const server = await serve(service);
console.log(`ready ${service.settings.base_url}`);

function stop() {
  server.close();
  for (const connection of service.connections) connection.refuse(new Refused("restarting", "The service goes down."));
  server.closeIdleConnections();
  setTimeout(() => process.exit(0), LAST_MS);
}

process.on("SIGTERM", stop);
if (service.settings.tied) process.stdin.resume().on("end", stop);
