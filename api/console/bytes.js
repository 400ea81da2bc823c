// A value of bytes: shown as hexadecimal digits, saved as a file, replaced by one.
import { h } from './dom.js';
import { write } from './key.js';
import { dump } from './value.js';

// Saves the bytes of an entry as a file.
export function download({ key, content }) {
  const address = URL.createObjectURL(new Blob([content], { type: 'application/octet-stream' }));
  h('a', { href: address, download: write(key).replace(/[^A-Za-z0-9._-]+/g, '-') }).click();
  URL.revokeObjectURL(address);
}

const IMAGE = /^image\/(png|jpeg|gif|webp|avif|bmp|svg\+xml)$/; // no script of an image runs in an element img

// An image is shown as one, above its bytes.
function picture({ type, content }) {
  const [essence] = type.split(';');
  if (!IMAGE.test(essence)) return null;
  const src = URL.createObjectURL(new Blob([content], { type: essence }));
  const done = () => URL.revokeObjectURL(src);
  return h('figure.picture', {}, h('img', { src, alt: 'The value as an image', onload: done, onerror: (event) => { done(); event.target.parentNode.remove(); } }));
}

// The elements: the bytes, and buttons for the footer. store(bytes) replaces them;
// null: that is not allowed.
export function bytesView(entry, store) {
  const file = h('input.hidden', { type: 'file', tabIndex: -1, 'aria-label': 'File with the new bytes',
    onchange: async () => store(await file.files[0].arrayBuffer()) });
  return { shown: [picture(entry), h('pre.text', { tabIndex: 0, role: 'region', 'aria-label': 'Value' }, dump(entry.content))],
    buttons: [h('button', { type: 'button', onclick: () => download(entry) }, 'Download'), file,
      store ? h('button', { type: 'button', onclick: () => file.click() }, 'Replace by a file') : null] };
}
