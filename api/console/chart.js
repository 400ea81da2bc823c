// Lines over time, as SVG, so that they have the colours of the style sheet.
import { h } from './dom.js';

const SVG = 'http://www.w3.org/2000/svg';
const WIDTH = 400;
const HEIGHT = 100;

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

export class Chart {
  constructor(title, unit, series) {
    Object.assign(this, { unit, series });
    this.lines = series.map((_, i) => svg('polyline', { class: `line s${i}`, fill: 'none' }));
    this.picture = svg('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': title });
    this.picture.append(...this.lines);
    this.top = h('span.note');
    this.legend = h('span.legend');
    this.node = h('figure.chart', {}, h('figcaption', {}, h('b', {}, title), this.top, h('span.grow'), this.legend), this.picture);
  }

  // Draws columns, one for each line, of `room` points at most, the newest at the
  // right. null: nothing was measured.
  set(columns, room) {
    const most = nice(Math.max(1e-6, ...columns.flat()));
    this.top.textContent = `up to ${this.unit(most)}`;
    columns.forEach((column, i) => this.lines[i].setAttribute('points', column.map((value, at) => {
      const x = ((room - column.length + at) / (room - 1)) * WIDTH;
      return value === null ? '' : `${x.toFixed(1)},${(HEIGHT - (value / most) * (HEIGHT - 4) - 2).toFixed(1)}`;
    }).join(' ').trim()));
    this.legend.replaceChildren(...this.series.map((name, i) => {
      const value = columns[i].at(-1);
      return h(`span.s${i}`, {}, `${name} ${value === null || value === undefined ? '–' : this.unit(value)} `);
    }));
  }
}
