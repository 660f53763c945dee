// Lets a reader run the code of a page in the browser, by Pyodide. Each block within <div class="run">,
// and each cell of a lesson, can be edited and has a button that runs it. They share their names, so
// those above that have not run yet run first.
"use strict";
const PYODIDE = window.PYODIDE ?? "https://cdn.jsdelivr.net/pyodide/v0.27.7/full/";
// opendp_lite, attrs and the lessons' judges: beside this file, wherever the page is.
const ARCHIVE = new URL("python.zip", document.currentScript.src);
let starting;

async function start() {
  if (location.protocol === "file:") throw new Error("Code runs where a server gives the page, not from a disk.");
  const { loadPyodide } = await import(`${PYODIDE}pyodide.mjs`);
  const python = await loadPyodide({ indexURL: PYODIDE, env: { MPLBACKEND: "agg", HOME: "/home/pyodide" } });
  const ofLessons = document.querySelector(".cell_input") ? ["matplotlib", "pandas", "sqlite3"] : [];
  await python.loadPackage(["numpy", "scipy", ...ofLessons], { messageCallback: () => {} });
  const answer = await fetch(ARCHIVE);
  if (!answer.ok) throw new Error(`${ARCHIVE} is not there`);
  python.unpackArchive(await answer.arrayBuffer(), "zip");
  return { python, run: python.pyimport("opendp_lite_lessons.cells").run };
}

function show(cell, words) {
  const text = cell.shown.appendChild(document.createElement("pre"));
  text.textContent = words;
  return text;
}

// Runs one block and shows what came of it; whether it ended well.
async function run({ block, shown }) {
  const text = show({ shown }, "Python is fetched, 30 to 45 MB at the first run ...");
  let told = "";
  try {
    starting ??= start();
    const { python, run } = await starting;
    text.textContent = "running ...";
    // The page draws nothing while Python runs, so it draws these words before.
    await new Promise((drawn) => setTimeout(drawn, 30));
    const write = { batched: (line) => (told += `${line}\n`) };
    python.setStdout(write);
    python.setStderr(write);
    shown.insertAdjacentHTML("beforeend", run(block.innerText, python.globals));
    return true;
  } catch (problem) {
    // The message without its traceback: what stands below the last file that it names.
    const lines = String(problem.message).trim().split("\n");
    const file = lines.findLastIndex((line) => line.startsWith("  File "));
    told += lines.slice(lines.findIndex((line, at) => at > file && /^\S/.test(line))).join("\n");
    return false;
  } finally {
    text.textContent = told;
    if (!told) text.remove();
  }
}

document.addEventListener("DOMContentLoaded", () => {
  const cells = [];
  for (const block of document.querySelectorAll(".run pre, .cell_input pre")) {
    const button = document.createElement("button");
    const shown = document.createElement("div");
    const cell = { block, shown, ran: false };
    cells.push(cell);
    button.className = "run-here";
    button.textContent = "Run";
    shown.className = "shown";
    shown.setAttribute("aria-live", "polite");
    block.contentEditable = "plaintext-only";
    block.spellcheck = false;
    block.addEventListener("input", () => (cell.ran = false));
    // As in a notebook.
    block.addEventListener("keydown", (key) => {
      if (key.key === "Enter" && key.shiftKey) {
        key.preventDefault();
        button.click();
      }
    });
    button.addEventListener("click", async () => {
      button.disabled = true;
      cell.ran = false;
      for (const each of cells.slice(0, cells.indexOf(cell) + 1).filter((each) => !each.ran)) {
        // What the page showed before was of another run.
        each.block.closest(".cell")?.querySelector(".cell_output")?.remove();
        each.shown.replaceChildren();
        each.ran = await run(each);
        if (!each.ran) {
          if (each !== cell) show(cell, "A cell above failed, so this one did not run. Its message stands there.");
          break;
        }
      }
      button.disabled = false;
    });
    (block.closest(".cell_input") ?? block).after(button, shown);
  }
});
