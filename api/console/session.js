// What the token may do, as GET /tokens/self says.
import { get } from './api.js';
import { begins } from './key.js';

let self = { required: true, token: null };

export async function loadSession() {
  self = await get('/tokens/self');
  return self;
}

// Is a token needed, and missing?
export const needsToken = () => self.required && self.token === null;
export const isOpen = () => !self.required;
export const holder = () => self.token;

const granted = (scopes, fits) => isOpen() || (self.token?.grants.some((grant) =>
  scopes.some((scope) => grant.scopes.includes(scope)) && fits(grant.prefix)) ?? false);

// Does any grant have one of these scopes?
export const may = (...scopes) => granted(scopes, () => true);
// For this key and all below it?
export const mayAt = (key, scope) => granted([scope], (prefix) => begins(key, prefix));
// For this key, or for some keys below it?
export const mayReach = (key, scope) => granted([scope], (prefix) => begins(key, prefix) || begins(prefix, key));
