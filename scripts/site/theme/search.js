// Answers the question that the address holds, `search.html?q=…`.
const MAX_ANSWERS = 40;
const question = new URLSearchParams(location.search).get('q') ?? '';
const index = MiniSearch.loadJS(globalThis.droverIndex, globalThis.droverSearch);
const answers = index.search(question);

/** The text around the first word that was found. */
function excerpt({ text, terms }) {
  const lower = text.toLowerCase();
  const places = terms.map((term) => lower.indexOf(term)).filter((place) => place >= 0);
  const begin = Math.max(0, Math.min(...(places.length > 0 ? places : [0])) - 80);
  const end = begin + 240;
  return `${begin > 0 ? '… ' : ''}${text.slice(begin, end)}${end < text.length ? ' …' : ''}`;
}

function show(answer) {
  const item = document.createElement('li');
  const link = document.createElement('a');
  link.href = answer.id;
  link.textContent = answer.heading === answer.title ? answer.title : `${answer.title}: ${answer.heading}`;
  const text = document.createElement('p');
  text.textContent = excerpt(answer);
  item.append(link, text);
  return item;
}

document.querySelector('input[name=q]').value = question;
document.querySelector('#told').textContent =
  question === ''
    ? 'Write words into the field above.'
    : `${answers.length === 0 ? 'Nothing' : answers.length} found for “${question}”${answers.length > MAX_ANSWERS ? `; the first ${MAX_ANSWERS}` : ''}.`;
document.querySelector('#found').append(...answers.slice(0, MAX_ANSWERS).map(show));
