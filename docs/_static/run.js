// Lets a reader run the code of a page in the browser, by Pyodide. Within <div class="run"> each block
// of code can be edited, and a button below it runs it. All blocks of a page share their names.
const PYODIDE = window.PYODIDE ?? "https://cdn.jsdelivr.net/pyodide/v0.27.7/full/";
// opendp_lite, attrs and the lessons' judges: beside this file, wherever the page is.
const ARCHIVE = new URL("python.zip", document.currentScript.src);
let starting;

async function start() {
  const { loadPyodide } = await import(`${PYODIDE}pyodide.mjs`);
  const python = await loadPyodide({ indexURL: PYODIDE });
  await python.loadPackage(["numpy", "scipy"], { messageCallback: () => {} });
  const answer = await fetch(ARCHIVE);
  if (!answer.ok) throw new Error(`${ARCHIVE} is not there`);
  python.unpackArchive(await answer.arrayBuffer(), "zip");
  // As in a notebook, the last expression is shown.
  python.runPython(`
from pyodide.code import eval_code

def _run(code):
    last = eval_code(code, globals())
    if last is not None:
        print(repr(last))
`);
  return python;
}

async function run(code, shown) {
  shown.textContent = "Python is fetched, some 20 MB at the first run ...";
  try {
    starting ??= start();
    const python = await starting;
    shown.textContent = "";
    python.setStdout({ batched: (line) => (shown.textContent += `${line}\n`) });
    python.globals.get("_run")(code);
  } catch (problem) {
    // The message without its traceback, whose lines are indented but for its first.
    const lines = String(problem.message).trim().split("\n");
    const first = lines.findLastIndex((line) => /^[\w.]+(Error|Refuted|Exception)\b/.test(line));
    shown.textContent += lines.slice(Math.max(first, 0)).join("\n");
  }
}

document.addEventListener("DOMContentLoaded", () => {
  for (const block of document.querySelectorAll(".run pre")) {
    const button = document.createElement("button");
    const shown = document.createElement("pre");
    button.textContent = "Run it here";
    shown.setAttribute("aria-live", "polite");
    shown.hidden = true;
    shown.style.whiteSpace = "pre-wrap";
    block.contentEditable = "plaintext-only";
    block.spellcheck = false;
    button.addEventListener("click", async () => {
      button.disabled = true;
      shown.hidden = false;
      await run(block.innerText, shown);
      button.disabled = false;
    });
    block.after(button, shown);
  }
});
