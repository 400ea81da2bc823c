// Dialogs. Each gives the focus back to where it was, and closes with Escape unless it is
// `locked`.
import { h } from './dom.js';

// Shows a form; submit(values, dialog) closes it by returning true. Resolves to
// whether it was submitted. `danger`: the button does what cannot be undone. `cancel`: the
// text of the button that closes it, or null. mayClose(): resolves to whether that button and
// Escape close it. left(): it was closed by close('left'), because its user was signed out.
export function form({ id, title, body, action, danger, submit, cancel = 'Cancel', locked = false, mayClose, refuse, left }) {
  const before = document.activeElement;
  return new Promise((resolve) => {
    const note = h('p.bad', { role: 'alert' });
    const button = h(danger ? 'button.danger' : 'button.primary', { type: 'submit' }, action);
    const close = async () => { if (!locked && (!mayClose || await mayClose())) dialog.close(); };
    const stop = (event) => {
      if (!locked && !mayClose) return;
      event.preventDefault();
      close();
    };
    // A browser asks once by `cancel`, and closes it at the next Escape without asking.
    const dialog = h('dialog', { id, 'aria-labelledby': `${id}-title`, oncancel: stop,
      onkeydown: (event) => { if (event.key === 'Escape') stop(event); },
      onclose: () => {
        if (dialog.returnValue === 'left') left?.();
        done(false);
      } },
    h('form', { onsubmit: (event) => { event.preventDefault(); press(); } },
      h('h2', { id: `${id}-title` }, title), body, note,
      h('div.actions', {}, cancel ? h('button', { type: 'button', onclick: close }, cancel) : null, button)));
    let finished = false;
    function done(submitted) {
      if (finished) return;
      finished = true;
      dialog.remove();
      if (before?.isConnected) before.focus();
      resolve(submitted);
    }
    async function press() {
      button.disabled = true;
      note.textContent = '';
      try {
        if (await submit(dialog) !== false) done(true);
      } catch (error) {
        note.textContent = refuse?.(error) ?? error.text ?? error.message;
      }
      button.disabled = false;
    }
    document.body.append(dialog);
    dialog.showModal();
    dialog.querySelector('[autofocus]')?.focus();
  });
}

// Asks before something that cannot be undone. With `type` that text must be typed.
export function confirm({ title, body, action, type }) {
  const field = type === undefined ? null
    : h('label', {}, `Type ${type} to confirm`, h('input', { name: 'typed', autocomplete: 'off',
      spellcheck: false, autofocus: true }));
  return form({ id: 'confirm', title, body: [body, field], action, danger: true, submit: () => {
    if (field && field.querySelector('input').value !== type) {
      throw new Error(`The text is not ${type}.`);
    }
  } });
}
