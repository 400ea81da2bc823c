// The dialog that asks for an access token. It is a form with a password, so
// that the browser's own store of passwords can keep the token if its owner
// wants that.
import { h } from './dom.js';
import { setToken } from './api.js';
import { loadSession, needsToken } from './session.js';
import { form } from './dialog.js';

// Resolves when the server has taken a token.
export function signIn(reason) {
  const field = h('input', { type: 'password', name: 'token', autocomplete: 'current-password',
    required: true, spellcheck: false, autofocus: true });
  const keep = h('input', { type: 'checkbox', name: 'keep' });
  return form({ id: 'sign-in', title: 'Access token', action: 'Sign in', cancel: null, locked: true,
    body: [h('p', {}, reason ?? 'This server needs an access token.'),
    h('p.note', {}, 'A token with all rights can create others: ', h('code', {}, 'kindex token create me all'),
      '. If all tokens are lost, start the server with ', h('code', {}, '--token-file FILE'), ': the token in that file has all rights.'),
    h('input.hidden', { type: 'text', name: 'username', autocomplete: 'username', value: 'kindex',
      tabIndex: -1, 'aria-hidden': 'true' }),
    h('label', {}, 'Token', field),
    h('label.check', {}, keep, 'Keep it until this tab is closed')],
    submit: async () => {
      if (!setToken(field.value.trim(), keep.checked)) {
        throw new Error('This is not a token: a token is printable ASCII without spaces.');
      }
      try {
        await loadSession();
        if (needsToken()) throw new Error('The server does not know this token.');
      } catch (error) {
        setToken(null);
        field.select();
        throw error;
      }
      field.value = '';
    } });
}
