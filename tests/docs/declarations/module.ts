// A module sees what a script sees.

export const widget: chatkey.Handle = initService({ providerId: "shop", getToken: async ({ jkt }) => (jkt ? null : jkt) });
export const problem = (reason: unknown): chatkey.ErrorCode => (reason as chatkey.Problem).code;
