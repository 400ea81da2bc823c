// A list of any length, of which only the rows in view are elements. Browsers
// limit the height of an element: above it the scroll bar is a scale.
import { h } from './dom.js';

const HEIGHT_MAX = 8000000; // pixels; Chromium's limit is above 16 million
const BEYOND = 5; // rows outside of the view that are drawn as well

// The first row in view of a list, and back: see the test of row arithmetic.
export function firstRow({ scroll, view, height, total }) {
  const tall = total * height;
  const most = Math.min(tall, HEIGHT_MAX) - view;
  if (tall <= HEIGHT_MAX || most <= 0) return scroll / height;
  return (scroll / most) * (total - view / height);
}

export function scrollTo({ first, view, height, total }) {
  const tall = total * height;
  if (tall <= HEIGHT_MAX) return first * height;
  return (first / (total - view / height)) * (HEIGHT_MAX - view);
}

// draw(i) makes the element of a row; need(from, to) is told which rows are in
// view; pick(i, tapped) which one was selected, and whether by a pointer; enter(i)
// which one was entered.
export class Rows {
  constructor({ height, draw, need, pick, enter, label }) {
    Object.assign(this, { height, draw, need, pick, enter, total: 0, selected: -1 });
    this.pool = new Map();
    this.canvas = h('div.canvas', { role: 'presentation' });
    this.node = h('div.rows', { tabIndex: 0, role: 'listbox', 'aria-label': label,
      onscroll: () => this.paint(), onkeydown: (event) => this.press(event),
      onclick: (event) => this.click(event) }, this.canvas);
    new ResizeObserver(() => this.paint()).observe(this.node);
  }

  get shape() {
    return { view: this.node.clientHeight, height: this.height, total: this.total };
  }

  setTotal(total) {
    this.total = total;
    this.canvas.style.height = `${Math.min(total * this.height, HEIGHT_MAX)}px`;
    this.redraw(0, Infinity);
  }

  // Draws rows again, because what they show has changed.
  redraw(from, to) {
    for (const [i, node] of this.pool) {
      if (i >= from && i < to) {
        node.remove();
        this.pool.delete(i);
      }
    }
    this.paint();
  }

  row(i) {
    let node = this.pool.get(i);
    if (node) return node;
    node = this.draw(i);
    node.id = `row-${i}`;
    node.dataset.index = i;
    node.setAttribute('role', 'option');
    node.setAttribute('aria-setsize', this.total);
    node.setAttribute('aria-posinset', i + 1);
    this.canvas.append(node);
    this.pool.set(i, node);
    return node;
  }

  paint() {
    const { view, height } = this.shape;
    const scroll = this.node.scrollTop;
    const first = firstRow({ scroll, ...this.shape });
    const from = Math.max(0, Math.floor(first) - BEYOND);
    const to = Math.min(this.total, Math.floor(first) + Math.ceil(view / height) + BEYOND);
    for (const [i, node] of this.pool) {
      if (i < from || i >= to) {
        node.remove();
        this.pool.delete(i);
      }
    }
    for (let i = from; i < to; i++) {
      const node = this.row(i);
      node.setAttribute('aria-selected', i === this.selected);
      node.style.transform = `translateY(${scroll + (i - first) * height}px)`;
    }
    if (view > 0) this.need(from, to);
  }

  show(i) {
    const { view, height } = this.shape;
    const rows = view / height;
    const first = firstRow({ scroll: this.node.scrollTop, ...this.shape });
    const top = i < first ? i : i > first + rows - 1 ? i - rows + 1 : null;
    if (top !== null) this.node.scrollTop = scrollTo({ first: top, ...this.shape });
    this.paint();
  }

  // All rows have got other numbers, greater by `by`: what is in view stays.
  move(by) {
    const first = firstRow({ scroll: this.node.scrollTop, ...this.shape }) + by;
    if (this.selected >= 0) this.selected += by;
    this.node.scrollTop = scrollTo({ first: Math.max(0, first), ...this.shape });
    this.redraw(0, Infinity);
  }

  // Scrolls so that the row is about in the middle.
  centre(i) {
    const { view, height } = this.shape;
    const first = Math.max(0, i - view / height / 2);
    this.node.scrollTop = scrollTo({ first, ...this.shape });
    this.paint();
  }

  // Marks a row as the selected one without opening it.
  mark(i) {
    this.selected = i;
    this.node.setAttribute('aria-activedescendant', `row-${i}`);
    this.paint();
  }

  select(i, tapped = false) {
    if (this.total === 0) return;
    this.selected = Math.max(0, Math.min(this.total - 1, i));
    this.show(this.selected);
    this.mark(this.selected);
    this.pick(this.selected, tapped);
  }

  press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(this.node.clientHeight / this.height) - 1);
    const { selected } = this;
    const target = { ArrowDown: selected + 1, ArrowUp: selected - 1, PageDown: selected + page,
      PageUp: selected - page, Home: 0, End: this.total - 1 }[event.key];
    if (target !== undefined) this.select(target);
    else if (event.key === 'Enter' && selected >= 0) this.enter(selected);
    else return;
    event.preventDefault();
  }

  click(event) {
    const row = event.target.closest('[role=option]');
    if (row) this.select(Number(row.dataset.index), true);
  }
}
