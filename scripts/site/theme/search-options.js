// Read by the build and by the page of answers, so that both take texts apart in the same way.
globalThis.droverSearch = {
  fields: ['title', 'heading', 'text'],
  storeFields: ['title', 'heading', 'text'],
  // Words; Chinese, which has no spaces, by pairs of characters.
  tokenize: (text) =>
    text.split(/[^\p{L}\p{N}]+/u).flatMap((word) =>
      word.split(/(\p{Script=Han}+)/u).flatMap((part) => {
        if (!/^\p{Script=Han}{2,}$/u.test(part)) return part === '' ? [] : [part];
        const characters = Array.from(part);
        return characters.slice(1).map((character, at) => characters[at] + character);
      }),
    ),
  searchOptions: {
    boost: { title: 3, heading: 5 },
    combineWith: 'AND',
    prefix: (term) => term.length > 2,
    fuzzy: (term) => (term.length > 5 ? 0.2 : false),
  },
};
