// Bundles the page into one HTML file, src/gradtape/explain/page.html, with a hash of its sources in it.

import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const target = process.argv[2] ?? join(here, "../src/gradtape/explain/page.html");

// The same hash as tests/explain/test_page_build.py computes: names and contents, in the order of the names.
function hashOfSources() {
  const names = ["build.mjs", "package-lock.json", "package.json", "tsconfig.json"];
  names.push(...readdirSync(join(here, "src")).map((name) => `src/${name}`));
  const hash = createHash("sha256");
  for (const name of names.sort()) {
    hash.update(name).update("\0").update(readFileSync(join(here, name))).update("\0");
  }
  return hash.digest("hex");
}

async function bundle(entry) {
  const result = await build({
    entryPoints: [join(here, "src", entry)],
    bundle: true,
    minify: true,
    write: false,
    format: "iife",
    target: "es2022",
    charset: "ascii",
    legalComments: "inline",
    logLevel: "warning",
    absWorkingDir: here,
  });
  return result.outputFiles[0].text.trim();
}

const script = (await bundle("main.ts")).replaceAll("</script", "<\\/script");
const style = await bundle("style.css");
const licence = readFileSync(join(here, "node_modules/@dagrejs/dagre/LICENSE"), "utf8").trim();
const html = readFileSync(join(here, "src/index.html"), "utf8")
  .replace("{{sources}}", () => hashOfSources())
  .replace("{{licence}}", () => licence)
  .replace("{{style}}", () => style)
  .replace("{{script}}", () => script);
writeFileSync(target, html);
