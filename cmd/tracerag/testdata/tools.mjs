// Opens exports in the tools that they are for: node tools.mjs MODULES FORMAT FILE,
// where MODULES is a node_modules directory with
//
//	npm install ajv jsdom mermaid speedscope @appland/models @appland/appmap-validate
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [modules, format, file] = process.argv.slice(2);
const require = createRequire(join(modules, 'x.js'));
const load = (name) => import(pathToFileURL(require.resolve(name)));
const text = readFileSync(file, 'utf8');

function valid(Ajv, schema, data) {
  const check = new Ajv({ strict: false }).compile(schema);
  if (!check(data)) throw new Error(JSON.stringify(check.errors.slice(0, 3)));
}

switch (format) {
  case 'speedscope':
    valid(require('ajv'), JSON.parse(readFileSync(join(modules, 'speedscope/dist/release/file-format-schema.json'))), JSON.parse(text));
    break;
  case 'jsonl': {
    const Ajv = require('ajv/dist/2020');
    const schema = JSON.parse(readFileSync(process.argv[5]));
    const check = new Ajv({ strict: false, validateFormats: false }).compile(schema);
    for (const line of text.trimEnd().split('\n')) {
      if (!check(JSON.parse(line))) throw new Error(line + JSON.stringify(check.errors.slice(0, 3)));
    }
    break;
  }
  case 'mermaid':
  case 'sequence': {
    const { JSDOM } = await load('jsdom');
    globalThis.window = new JSDOM('<!doctype html><body></body>').window;
    globalThis.document = window.document;
    const mermaid = (await load('mermaid')).default;
    const { diagramType } = await mermaid.parse(text);
    const want = format === 'sequence' ? 'sequence' : 'flowchart-v2';
    if (diagramType !== want) throw new Error(`${diagramType}, want ${want}`);
    break;
  }
  case 'appmap': {
    require('@appland/appmap-validate').validate(JSON.parse(text));
    const map = require('@appland/models').buildAppMap(text).normalize().build();
    const functions = map.classMap.codeObjects.filter((o) => o.type === 'function');
    if (functions.length === 0 || map.events.some((e) => e.isCall() && !e.codeObject)) throw new Error('calls without a function');
    break;
  }
  default:
    throw new Error('no tool for ' + format);
}
