// Makes tables sort, cards and rows filter, maps tell the neuron under the pointer, and commands copy.
// Every fact it shows is on the page without it.
(() => {
  'use strict';
  const all = (selector, root) => Array.from((root || document).querySelectorAll(selector));
  const make = (tag, words) => {
    const element = document.createElement(tag);
    if (words) element.textContent = words;
    return element;
  };
  document.documentElement.classList.add('scripted');

  // Tables: a click on the title of a column sorts by it, a second one the other way round.
  const key = (cell) => {
    const text = cell ? cell.textContent.trim() : '';
    const number = parseFloat(text.replace(/,/g, ''));
    return /^[+-]?[\d.]/.test(text) && !Number.isNaN(number) ? number : text.toLowerCase();
  };
  const compare = (a, b) => {
    if (typeof a === 'number' && typeof b === 'number') return a - b;
    if (typeof a !== typeof b) return typeof a === 'number' ? -1 : 1;
    return a.localeCompare(b, undefined, { numeric: true });
  };
  for (const table of all('table.sortable')) {
    const titles = all('thead th', table);
    titles.forEach((title, column) => {
      if (!title.textContent.trim()) return;
      const button = make('button', title.textContent);
      button.type = 'button';
      title.replaceChildren(button);
      button.addEventListener('click', () => {
        const down = title.getAttribute('aria-sort') === 'ascending';
        for (const other of titles) other.removeAttribute('aria-sort');
        title.setAttribute('aria-sort', down ? 'descending' : 'ascending');
        const body = table.tBodies[0];
        const rows = Array.from(body.rows).map((row, place) => ({ row, place, key: key(row.cells[column]) }));
        rows.sort((a, b) => (down ? -1 : 1) * compare(a.key, b.key) || a.place - b.place);
        body.append(...rows.map((one) => one.row));
      });
    });
  }

  // Requirements: a box to search in, and one verdict at a time.
  const search = document.getElementById('search');
  if (search) {
    const table = document.getElementById(search.dataset.table);
    const rows = Array.from(table.tBodies[0].rows).map((row) => ({ row, text: row.textContent.toLowerCase(), verdict: row.cells[1].textContent.trim().split(/\s+/).pop() }));
    const box = make('input');
    box.type = 'search';
    box.placeholder = 'Search';
    box.setAttribute('aria-label', 'Search requirements');
    const choice = choose('verdict', rows.map((one) => one.verdict));
    const shown = make('span');
    const update = () => {
      const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
      let number = 0;
      for (const { row, text, verdict } of rows) {
        const fits = words.every((word) => text.includes(word)) && (!choice.select.value || choice.select.value === verdict);
        row.hidden = !fits;
        number += fits;
      }
      shown.textContent = `${number} of ${rows.length}`;
    };
    box.addEventListener('input', update);
    choice.select.addEventListener('change', update);
    search.append(box, choice.label, shown);
    update();
  }

  // The gallery: by true label, found label and stage.
  const filters = document.getElementById('filters');
  if (filters) {
    const cards = all('#gallery > .card');
    const choices = [['truth', 'true label'], ['found', 'taken for'], ['stage', 'stage']]
      .map(([name, words]) => ({ name, ...choose(words, cards.map((card) => card.dataset[name]).filter(Boolean)) }))
      .filter((choice) => choice.select.options.length > 2);
    const shown = make('span');
    const update = () => {
      let number = 0;
      for (const card of cards) {
        const fits = choices.every((choice) => !choice.select.value || card.dataset[choice.name] === choice.select.value);
        card.hidden = !fits;
        number += fits;
      }
      shown.textContent = `${number} of ${cards.length}`;
    };
    for (const choice of choices) {
      choice.select.addEventListener('change', update);
      filters.append(choice.label);
    }
    filters.append(shown);
    update();
  }

  function choose(words, values) {
    const label = make('label', `${words} `);
    const select = make('select');
    const known = Array.from(new Set(values)).sort((a, b) => a.localeCompare(b, undefined, { numeric: true }));
    select.append(new Option('all', ''), ...known.map((value) => new Option(value, value)));
    label.append(select);
    return { label, select };
  }

  // Maps of neurons: what is under the pointer, from the table of evidence.
  const evidence = document.getElementById('evidence');
  const holder = document.querySelector('.map-holder');
  const readout = document.getElementById('readout');
  if (evidence && holder && readout) {
    const seen = new Map();
    let known;
    const read = () => {
      known = new Map();
      const lines = document.getElementById('seen');
      for (const line of lines ? lines.textContent.split('\n').filter(Boolean) : []) {
        const [neuron, low, high] = line.split(' ');
        seen.set(Number(neuron), `; u seen from ${low} to ${high}`);
      }
      for (const row of evidence.tBodies[0].rows) {
        const words = [row.cells[0].textContent.trim(), row.cells[1].textContent.trim()];
        for (const range of row.querySelector('.ranges .all').textContent.split(' ').filter(Boolean)) {
          const [first, last] = range.split('-').map(Number);
          for (let neuron = first; neuron <= (last === undefined ? first : last); neuron += 1) known.set(neuron, words);
        }
      }
    };
    const svg = holder.querySelector('svg.map');
    const size = (name) => Number(svg.dataset[name]);
    const tell = (event) => {
      if (!known) read();
      const frame = svg.getBoundingClientRect();
      const cells = svg.viewBox.baseVal;
      const x = Math.floor(((event.clientX - frame.left) / frame.width) * cells.width);
      const y = Math.floor(((event.clientY - frame.top) / frame.height) * cells.height);
      const [width, height, maps, across, gap] = ['width', 'height', 'maps', 'across', 'gap'].map(size);
      const column = x % (width + gap);
      const row = y % (height + gap);
      const map = Math.floor(x / (width + gap)) + across * Math.floor(y / (height + gap));
      if (column >= width || row >= height || map >= maps) return;
      const neuron = holder.dataset.order === 'maps' ? (map * height + row) * width + column : (row * width + column) * maps + map;
      const found = known.get(neuron);
      const place = maps > 1 ? ` (map ${map}, row ${row}, column ${column})` : '';
      if (!found) readout.textContent = `Neuron ${neuron}${place}: not required`;
      else readout.textContent = `Neuron ${neuron}${place}: ${found[1]}${found[0] === 'several' ? '' : `, shown by ${found[0]}`}${seen.get(neuron) || ''}`;
    };
    svg.addEventListener('pointermove', tell);
    svg.addEventListener('pointerdown', tell);
  }

  // Commands can be copied.
  for (const code of all('code.command')) {
    if (!navigator.clipboard) break;
    const button = make('button', 'copy');
    button.type = 'button';
    button.className = 'copy';
    button.addEventListener('click', () => navigator.clipboard.writeText(code.textContent).then(() => { button.textContent = 'copied'; }, () => {}));
    code.after(button);
  }
})();
