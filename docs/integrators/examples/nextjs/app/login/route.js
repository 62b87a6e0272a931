import { begin } from "../../lib/session.js";

export async function POST(request) {
  const form = await request.formData();
  const known = await begin(form.get("user"), form.get("password"));
  return new Response(null, known ? { status: 303, headers: { Location: "/" } } : { status: 403 });
}
