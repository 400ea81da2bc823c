// What the token may do, as GET /tokens/self says.
import { get } from './api.js';

let self = { required: true, token: null };

export async function loadSession() {
  self = await get('/tokens/self');
  return self;
}

// Is a token needed, and missing?
export const needsToken = () => self.required && self.token === null;
export const isOpen = () => !self.required;
export const holder = () => self.token;

// Does any grant have one of these scopes?
export const may = (...scopes) => isOpen() ||
  (self.token?.grants.some((grant) => scopes.some((scope) => grant.scopes.includes(scope))) ?? false);
