// How long an entry stays: a time from now, a date, or for ever.
import { h } from './dom.js';
import { form } from './dialog.js';

const DURATION = /^(\d+(ms|s|m|h|d)|none)$/;
const MINUTE_MS = 60000;

// A time as a field for dates takes it, in the time zone of the browser, to the
// minute or to the millisecond.
export function localTime(ms, exact = false) {
  const date = new Date(ms);
  return new Date(ms - date.getTimezoneOffset() * MINUTE_MS).toISOString().slice(0, exact ? 23 : 16);
}

// Resolves to a time to live for the interface, such as 7d or none; undefined: not chosen.
export async function chooseExpiry(expiresAt) {
  const field = h('input', { name: 'ttl', autofocus: true, autocomplete: 'off', spellcheck: false, placeholder: '30m, 12h, 7d, none' });
  const date = h('input', { type: 'datetime-local', name: 'at',
    value: expiresAt === null ? '' : localTime(expiresAt), oninput: () => { field.value = ''; } });
  field.addEventListener('input', () => { date.value = ''; });
  let ttl;
  await form({ id: 'expiry', title: 'Time to live', action: 'Set', body: [h('p', {}, expiresAt === null
    ? 'The entry does not expire.' : `The entry expires at ${new Date(expiresAt).toLocaleString('en-GB')}.`),
  h('label', {}, 'Expires after', field), h('label', {}, 'or at', date)], submit: () => {
    const text = field.value.trim();
    const left = date.value === '' ? NaN : new Date(date.value).getTime() - Date.now();
    if (text !== '' && !DURATION.test(text)) throw new Error('Write a time such as 30m, 12h or 7d, or none.');
    if (text === '' && !(left > 0)) throw new Error('Write a time such as 30m, 12h or 7d, or choose a date in the future.');
    ttl = text !== '' ? text : `${left}ms`;
  } });
  return ttl;
}
