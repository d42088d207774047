// How the search of the site ranks: pages for users before those on how ssdlab is built.
var Scorer = {
  score: ([page, , , , score]) =>
    /^(docs\/adr\/|ARCHITECTURE|CHANGELOG|CONTRIBUTING|docs\/adding)/.test(page) ? score / 4 : score,
  // The weights of Sphinx: names of objects, titles, words.
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
