// The login with the fetch of Node, which is undici.
const [provider, providerLab, serviceLab] = process.argv.slice(2);
const statuses = [];
const client = { client_id: "stranger", redirect_uri: "http://localhost/back" };
const application = { provider: "oidc", client_secret: "hush", redirect_uris: [client.redirect_uri], client_id: "stranger" };
const asked = new URLSearchParams({ ...client, response_type: "code", scope: "openid profile" });

async function ask(url, options = {}) {
  const answer = await fetch(url, { redirect: "manual", ...options });
  statuses.push(answer.status);
  return { headers: answer.headers, text: await answer.text() };
}

const post = (url, form) => ask(url, { method: "POST", body: new URLSearchParams(form) });
const postJson = (url, body) =>
  ask(url, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });

await postJson(`${providerLab}/clients`, application);
await ask(`${provider}/oidc/authorize?${asked}`);
const approved = await post(`${provider}/oidc/consent?${asked}`, { account: "rhea", decision: "approve" });
const code = new URL(approved.headers.get("location")).searchParams.get("code");
const form = { ...client, client_secret: "hush", grant_type: "authorization_code", code };
const { access_token } = JSON.parse((await post(`${provider}/oidc/token`, form)).text);
const headers = { Authorization: `Bearer ${access_token}` };
const person = JSON.parse((await ask(`${provider}/oidc/userinfo`, { headers })).text);
await postJson(`${serviceLab}/clock`, { advance: 0 });
console.log(JSON.stringify({ statuses, name: person.name }));
