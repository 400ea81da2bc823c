// Lines over time, as SVG, so that they have the colours of the style sheet. One cross hair
// is shown in all plots of a page, with the values at its time.
import { h, fill } from './dom.js';

const SVG = 'http://www.w3.org/2000/svg';
const WIDTH = 400;
const HEIGHT = 100;
const MARGIN = 2; // above and below the lines

function svg(name, attributes) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return node;
}

// The next of 1, 2, 5, 10, 20, ... that is not below.
export function nice(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((factor) => factor * power).find((limit) => limit >= value);
}

const high = (share) => HEIGHT - MARGIN - share * (HEIGHT - 2 * MARGIN);
const rule = (kind, x1, y1, x2, y2) => svg('line', { class: kind, x1, y1, x2, y2 });
const clock = (ms) => new Date(ms).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });

export class Chart {
  // point(share): the pointer is at this share of the width, or null: it has left.
  // least: what the scale reaches at least.
  constructor(title, unit, series, point, least = 1) {
    Object.assign(this, { unit, series, point, least });
    this.lines = series.map((_, i) => svg('polyline', { class: `line s${i}`, fill: 'none' }));
    this.cross = rule('cross', 0, 0, 0, HEIGHT);
    this.cross.setAttribute('visibility', 'hidden');
    this.starts = svg('g', {});
    this.picture = svg('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': title });
    this.picture.append(...[0, 0.5, 1].map((share) => rule('grid', 0, high(share), WIDTH, high(share))), this.starts, ...this.lines, this.cross);
    this.picture.addEventListener('pointermove', (event) => {
      const { left, width } = this.picture.getBoundingClientRect();
      point?.((event.clientX - left) / width);
    });
    this.picture.addEventListener('pointerleave', () => point?.(null));
    this.top = h('span.scale.most');
    this.half = h('span.scale.half');
    this.times = h('div.axis');
    this.legend = h('span.legend');
    this.node = h('figure.chart', {}, h('figcaption', {}, h('b', {}, title), h('span.grow'), this.legend),
      h('div.plot', {}, this.picture, this.top, this.half), this.times);
  }

  // Draws columns, one for each line, of `room` points at most, the newest at the right, each
  // stepMs after the one before. null: nothing was measured. `starts`: the times of starts of
  // the server.
  set(columns, room, stepMs, now = Date.now(), starts = []) {
    const most = nice(Math.max(this.least, ...columns.flat()));
    Object.assign(this, { columns, room, stepMs, now });
    this.top.textContent = this.unit(most);
    this.half.textContent = this.unit(most / 2);
    const span = (room - 1) * stepMs;
    fill(this.times, [1, 0.75, 0.5, 0.25, 0].map((share) => h('span', {}, clock(now - share * span))));
    this.starts.replaceChildren(...starts.filter((at) => at > now - span).map((at) => {
      const x = (1 - (now - at) / span) * WIDTH;
      const line = rule('begun', x, 0, x, HEIGHT);
      const words = svg('title', {});
      words.textContent = `The server started at ${clock(at)}`;
      line.append(words);
      return line;
    }));
    columns.forEach((column, i) => this.lines[i].setAttribute('points', column.map((value, at) => {
      const x = ((room - column.length + at) / (room - 1)) * WIDTH;
      return value === null ? '' : `${x.toFixed(1)},${high(value / most).toFixed(1)}`;
    }).join(' ').trim()));
    this.show(null);
  }

  // The cross hair at a share of the width, and the values there; null: the newest values.
  show(share) {
    if (!this.columns) return;
    const { room, columns } = this;
    const number = share === null ? room - 1 : Math.max(0, Math.min(room - 1, Math.round(share * (room - 1))));
    this.cross.setAttribute('visibility', share === null ? 'hidden' : 'visible');
    for (const end of ['x1', 'x2']) this.cross.setAttribute(end, (number / (room - 1)) * WIDTH);
    const at = share === null ? '' : `${clock(this.now - (room - 1 - number) * this.stepMs)}  `;
    fill(this.legend, at, this.series.map((name, i) => {
      const value = columns[i].at(number - room);
      return h(`span.s${i}`, {}, `${name} ${value === null || value === undefined ? '–' : this.unit(value)} `);
    }));
  }
}
