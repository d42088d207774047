// How the search of the site ranks: pages for users before those on how ssdlab is built.
// What stands within a page is called by its own name, which its anchor has (names.py).
var Scorer = {
  score: (found) => {
    const [page, title, anchor, , score] = found;
    if (anchor.startsWith("#name-")) {
      [found[1], found[3]] = [anchor.slice("#name-".length).replaceAll("+", " "), title];
    }
    // A page says more than an entry of the glossary with the same name.
    if (page === "docs/glossary") return score - 1;
    const built = /^(docs\/adr\/|ARCHITECTURE|CHANGELOG|CONTRIBUTING|docs\/adding)/;
    return built.test(page) ? score / 4 : score;
  },
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
