import { end } from "../../lib/session.js";

export async function POST() {
  await end();
  return new Response(null, { status: 303, headers: { Location: "/" } });
}
