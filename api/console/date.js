// A typed value that is a date: a field with a calendar beside its text.
import { h } from './dom.js';
import { localTime } from './expiry.js';

const DATE = /^(\s*\{\s*"type"\s*:\s*"Date"\s*,\s*"value"\s*:\s*")([^"]*)("\s*\}\s*)$/;

// A field for the date in a text, or null if the text is no date. change(text): the
// text with another date; what is around it stays.
export function dateField(text, change) {
  const found = DATE.exec(text);
  const at = found ? Date.parse(found[2]) : NaN;
  if (Number.isNaN(at)) return null;
  const field = h('input', { type: 'datetime-local', name: 'date', step: '0.001', value: localTime(at, true), onchange: () => {
    const chosen = new Date(field.value);
    if (!Number.isNaN(chosen.getTime())) change(found[1] + chosen.toISOString() + found[3]);
  } });
  return h('label.bar', {}, 'Date, in your time zone', field);
}
