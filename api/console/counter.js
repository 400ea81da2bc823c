// A KvU64: a number that many clients change at once. It is changed by a mutation
// (sum, min, max), so that no change of another client is lost and none is refused.
import { h } from './dom.js';
import { post } from './api.js';

const MOST = 2n ** 64n; // a sum begins at 0 again there
const NUMBER = /^\d{1,20}$/;

// The digits of a typed text that is a KvU64, or null.
export function numberOf(text) {
  const found = /^\s*\{\s*"type"\s*:\s*"KvU64"\s*,\s*"value"\s*:\s*"(\d+)"\s*\}\s*$/.exec(text);
  return found ? found[1] : null;
}

// What is added to subtract a number: the sum goes around.
const negative = (number) => String((MOST - number) % MOST);

// The buttons for the entry with this key; done() after a change, refused(error).
export function counterForm(key, digits, { done, refused }) {
  const amount = h('input', { name: 'amount', value: '1', inputMode: 'numeric', size: 8, autocomplete: 'off',
    spellcheck: false, 'aria-label': 'Amount' });
  const change = async (type, sign, text) => {
    try {
      if (!NUMBER.test(amount.value) || BigInt(amount.value) >= MOST) throw new Error('The amount is a whole number from 0 to 18446744073709551615.');
      const number = BigInt(amount.value);
      if (sign < 0 && number > BigInt(digits)) throw new Error('The number would fall below 0.');
      const value = sign < 0 ? negative(number) : String(number);
      await post('/atomic', { mutations: [{ type, key, typed: { type: 'KvU64', value } }] });
      done(text);
    } catch (error) {
      refused(error);
    }
  };
  const button = (label, title, type, sign) => h('button', { type: 'button', title, onclick: () => change(type, sign, label) }, label);
  return h('div.bar.counter', { role: 'group', 'aria-label': 'Change the number' },
    h('output', { 'aria-label': 'The number now' }, BigInt(digits).toLocaleString('en')), h('span.grow'), amount,
    button('−', 'Subtract the amount', 'sum', -1), button('+', 'Add the amount', 'sum', 1),
    button('min', 'The lower one of the number and the amount', 'min', 1),
    button('max', 'The higher one of the number and the amount', 'max', 1));
}
