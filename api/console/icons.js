// The icons: lines on a grid of 16, in the colour of the text beside them.

const SVG = 'http://www.w3.org/2000/svg';
const PATHS = {
  data: 'M2.5 4c0-1.1 2.5-2 5.5-2s5.5.9 5.5 2-2.5 2-5.5 2-5.5-.9-5.5-2zm0 0v8c0 1.1 2.5 2 5.5 2s5.5-.9 5.5-2V4m-11 4c0 1.1 2.5 2 5.5 2s5.5-.9 5.5-2',
  indexes: 'M2.5 3.5h11M2.5 8h6m-6 4.5h3m6.5-5v6m0 0-2-2m2 2 2-2',
  rules: 'M2.5 2.5h11v11h-11zm2.7 5.7 2 2 3.6-4.4',
  queues: 'M2 3.5h9M2 8h9m-9 4.5h9M13.8 3.5h.01M13.8 8h.01m-.01 4.5h.01',
  query: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zm3.6-1.4L14 14',
  watch: 'M1.5 8.5H4L6 3l3.5 10 2-4.5h3',
  server: 'M2 13.5h12M4 11V8m4 3V3.5M12 11V6',
  access: 'M9 10a4 4 0 1 0-2.7-2.7L2 11.5V14h2.5l.5-2h1.5zm1.5-4.5h.01',
  entry: 'M4 1.8h5.2L12.5 5v9.2H4zm5 0V5h3.5',
  folder: 'M1.8 12.8V3.2h4l1.5 1.6h6.9v8z',
  mark: 'M4 3v10M4 8l7-5M6.2 6.6 11 13', plus: 'M8 3v10M3 8h10', close: 'm4 4 8 8m0-8-8 8',
  columns: 'M2.5 3h11v10h-11zm3.7 0v10m3.6-10v10', down: 'M8 2v8m0 0L5 7m3 3 3-3M2.5 13.5h11', up: 'M8 10V2m0 0L5 5m3-3 3 3M2.5 13.5h11',
  bin: 'M2.8 4.5h10.4M6 4.5v-2h4v2m-5.7 0 .6 9h6.2l.6-9', clock: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zm0-9.5V8l2.5 1.5',
  out: 'M6.5 2.5H3v11h3.5M10 5l3 3-3 3m3-3H6.5',
  keys: 'M2 4h12v8H2zm2.5 2.7h.01m3.5 0h.01m3.5 0h.01M5 9.5h6',
  auto: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 2v12M8 5l3.5-1.6M8 8h6m-6 3 3.5 1.6', dark: 'M13.5 9.5A6 6 0 1 1 6.5 2.5a4.7 4.7 0 0 0 7 7z',
  light: 'M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6zm0-9.5V3m0 10v1.5M1.5 8H3m10 0h1.5M3.4 3.4l1 1m7.2 7.2 1 1m0-9.2-1 1m-7.2 7.2-1 1',
};

export function icon(name) {
  const node = document.createElementNS(SVG, 'svg');
  const path = document.createElementNS(SVG, 'path');
  for (const [key, value] of [['viewBox', '0 0 16 16'], ['class', 'icon'], ['aria-hidden', 'true']]) node.setAttribute(key, value);
  path.setAttribute('d', PATHS[name]);
  node.append(path);
  return node;
}
