// The Socket.IO server of the benchmark. It stores each message, acknowledges it, and sends it to the rest of the room.
"use strict";
const { createServer } = require("node:http");
const { Pool } = require("pg");
const { createClient } = require("redis");
const { Server } = require("socket.io");
const { createAdapter } = require("@socket.io/redis-adapter");

const STORE = "INSERT INTO socket_io_message (id, body) VALUES ($1, $2) RETURNING seq";

async function main(port, database, redis) {
  const pool = new Pool({ connectionString: database });
  const http = createServer();
  const io = new Server(http, { transports: ["websocket"] });
  if (redis) {
    const publishing = createClient({ socket: { path: redis } });
    const listening = publishing.duplicate();
    await Promise.all([publishing.connect(), listening.connect()]);
    io.adapter(createAdapter(publishing, listening));
  }
  io.on("connection", (socket) => {
    socket.join("room");
    socket.on("message", async (message, acknowledge) => {
      const stored = await pool.query({ name: "store", text: STORE, values: [message.id, message.body] });
      const { seq } = stored.rows[0];
      acknowledge({ id: message.id, seq });
      socket.to("room").emit("message", { ...message, seq });
    });
  });
  http.listen(Number(port), "127.0.0.1", () => console.log(`ready http://127.0.0.1:${port}`));
}

main(...process.argv.slice(2));
