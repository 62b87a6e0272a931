// What integrators write, and what TypeScript has to know of it.

window.ServiceConfig = { providerId: "shop" };
window.ServiceConfig = {
  providerId: "shop",
  locale: navigator.language,
  getToken: async ({ jkt, reason, attempt, signal }) => {
    const body = JSON.stringify({ jkt, reason, attempt: attempt + 1 });
    const answer = await fetch("/chat/token", { method: "POST", body, signal });
    const { token }: { token: string | null } = await answer.json();
    return token;
  },
};
window.ServiceConfig = { providerId: "shop", getToken: () => null };
window.ServiceConfig = { providerId: "shop", getToken: null };

(window.Service ??= []).push(
  (service) => service.on("ready", ({ uid }) => console.log(uid.length)),
  ({ debug }) => console.log(JSON.stringify(debug())),
);

const started: chatkey.Handle = initService({ providerId: "shop" });

Service.on("identity:changed", ({ identity, name, avatar }) => {
  const greeting: string = identity === "member" ? (name ?? "somebody") : "visitor";
  console.log(greeting, avatar?.startsWith("https:"));
})
  .on("error", ({ code, phase, message, remediation, retryable }) => {
    if (code === "gettoken_failed" && phase === "getToken") console.log(message, remediation, !retryable);
  })
  .on("warning", ({ code, seconds }) => console.log(code === "clock_skew", seconds.toFixed()))
  .on("token:used", ({ claims, expires_at }) => console.log(claims["uid"], new Date(expires_at * 1000)))
  .on("storage:degraded", ({ what, reason }) => console.log(what, reason))
  .on("shutdown", () => console.log("gone"))
  .on("*", (detail, name) => console.log(name.startsWith("socket:"), detail));

const heard: chatkey.Listener<"logout"> = ({ heard }, name) => console.log(name, heard);
started.on("logout", heard).off("logout", heard);

async function use(): Promise<string> {
  const { identity, uid } = await Service.ready;
  await Service.refreshIdentity();
  await Service.refreshIdentity({ force: true });
  await Service.open();
  await Service.close();
  await Service.logout();
  Service.shutdown();
  const { boot, troubles, counters } = Service.debug();
  return `${identity} ${uid} ${Service.identity?.name} ${boot.milliseconds} ${troubles?.length} ${counters?.["error"]}`;
}

document.addEventListener("service:ready", ({ detail }) => console.log(detail.uid, use));
document.addEventListener("service:error", ({ detail: { code, remediation } }) => console.log(code, remediation));
