// Prints the pages that the site's own search finds: node search.js SITE WORD...
// The scripts are those of the site, in the order of its page search.html.
"use strict";
const fs = require("fs");
const vm = require("vm");
const [site, ...words] = process.argv.slice(2);
const nothing = { appendChild: (each) => each, addEventListener: () => {}, dataset: {} };
const page = {
  document: { ...nothing, getElementById: () => ({}), readyState: "loading" },
  localStorage: { setItem: () => {} },
  console,
  SPHINX_HIGHLIGHT_ENABLED: false,
  DOCUMENTATION_OPTIONS: {},
  _: (text) => text,
  _ready: () => {},
};
page.window = page;
vm.createContext(page);
const scripts = [...fs.readFileSync(`${site}/search.html`, "utf8").matchAll(/<script src="([^"?]+)/g)]
  .map((each) => each[1])
  .filter((each) => /searchtools|language_data|stemmer|searchindex/.test(each));
for (const script of scripts)
  vm.runInContext(fs.readFileSync(`${site}/${script}`, "utf8"), page, { filename: script });
page.words = words;
const found = vm.runInContext(
  "words.map(word => Search._performSearch(...Search._parseQuery(word)).reverse().map(([name]) => name))",
  page,
);
process.stdout.write(JSON.stringify(Object.fromEntries(words.map((each, i) => [each, found[i]]))));
