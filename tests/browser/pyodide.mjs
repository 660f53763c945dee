// Runs a Python module of this repository in Pyodide, in node: node pyodide.mjs ASSETS ROOT ATTRS MODULE [ARGUMENT...]
// ASSETS is a folder of Pyodide's files, ROOT the repository, and ATTRS the folder that holds attrs.
import { pathToFileURL } from "node:url";

const [assets, root, attrs, module, ...given] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(`${assets}/pyodide.mjs`));
const python = await loadPyodide({ indexURL: `${assets}/`, env: { MPLBACKEND: "agg", HOME: "/tmp" } });
const wanted = ["numpy", "scipy", "pandas", "matplotlib", "sqlite3"];
await python.loadPackage(wanted, { messageCallback: () => {} });
for (const [place, folder] of [["/tree", root], ["/attr", `${attrs}/attr`], ["/attrs", `${attrs}/attrs`]]) {
  python.FS.mkdirTree(`/mounted${place}`);
  python.FS.mount(python.FS.filesystems.NODEFS, { root: folder }, `/mounted${place}`);
}
python.globals.set("given", python.toPy([module, ...given]));
python.runPython(`
import os, runpy, sys
os.chdir("/mounted/tree")
sys.path[:0] = ["/mounted/tree", "/mounted/tree/notebooks", "/mounted"]
sys.dont_write_bytecode = True
sys.argv = list(given)
runpy.run_module(given[0], run_name="__main__")
`);
