// What TypeScript has to refuse: each line is wrong in the way that stands above it.

// @ts-expect-error providerId is missing
window.ServiceConfig = { getToken: () => null };
// @ts-expect-error providerId is a text
window.ServiceConfig = { providerId: 5 };
// @ts-expect-error a misspelt member
window.ServiceConfig = { providerId: "shop", gettoken: () => null };
// @ts-expect-error the backend's answer instead of the token in it
window.ServiceConfig = { providerId: "shop", getToken: async () => ({ token: "a.b.c" }) };
// @ts-expect-error a function that returns nothing
window.ServiceConfig = { providerId: "shop", getToken: () => {} };
// @ts-expect-error nobody is null, not undefined
window.ServiceConfig = { providerId: "shop", getToken: async () => undefined };
// @ts-expect-error a member that getToken is not given
window.ServiceConfig = { providerId: "shop", getToken: ({ nonce }) => nonce };
// @ts-expect-error a locale is a text
window.ServiceConfig = { providerId: "shop", locale: 49 };

// @ts-expect-error an event that does not exist
Service.on("identity:change", () => {});
// @ts-expect-error a member that the event does not have
Service.on("ready", ({ email }) => email);
// @ts-expect-error a code that does not exist
Service.on("error", ({ code }) => code === "get_token_failed");
// @ts-expect-error details are not for writing
Service.on("identity:changed", (person) => (person.name = "Eve"));
// @ts-expect-error a listener is a function
Service.on("ready", "told");
// @ts-expect-error the identity may be nobody's yet
Service.identity.uid;
// @ts-expect-error who the widget is, is not for the page to say
Service.identity = null;
// @ts-expect-error an option that does not exist
Service.refreshIdentity({ forced: true });
// @ts-expect-error there is no such method
Service.login();
// @ts-expect-error a promise, and no identity
(await Service.ready).token;
// @ts-expect-error before the script is there, it is an array
window.Service.logout();
// @ts-expect-error a queue of functions
(window.Service ??= []).push(["on", "ready"]);
// @ts-expect-error a configuration is needed
initService();
// @ts-expect-error the widget's part of the bundle may be missing
Service.debug().events.length;
// @ts-expect-error an event of the document that does not exist
document.addEventListener("service:gone", ({ detail }) => detail);

export {};
