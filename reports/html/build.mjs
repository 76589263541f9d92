// SPDX-License-Identifier: Apache-2.0
// Builds the page: src/main.js with all it imports and src/style.css, put into src/page.html.
//   node build.mjs SOURCE_FOLDER OUTPUT        packages: from the node_modules beside this file
import { build } from "esbuild";
import { readFile, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const [source, output] = process.argv.slice(2);
const here = dirname(fileURLToPath(import.meta.url));

async function bundle(entry) {
  const result = await build({
    entryPoints: [resolve(source, entry)],
    nodePaths: [join(here, "node_modules")],
    bundle: true,
    minify: true,
    write: false,
    charset: "utf8",
    legalComments: "none",
    format: "iife",
    target: "es2021",
  });
  return result.outputFiles[0].text.trim();
}

const style = await bundle("style.css");
const script = (await bundle("main.js")).replaceAll("</script", "<\\/script");
const page = await readFile(resolve(source, "page.html"), "utf8");
// Functions as replacements: "$&" in minified code is no pattern.
await writeFile(output, page.replace("/* style */", () => style).replace("/* script */", () => script));
