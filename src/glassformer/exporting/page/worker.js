// Reads texts beside the page, so that typing never waits. The page sends the model first, and then questions.

import { Answering } from "./answering.js";
import { BodyReader } from "./body.js";
import { CountingReader } from "./counting.js";
import { asArrays, asJson, unpacked } from "./files.js";
import { RulesReader } from "./rules.js";
import { TargetOf } from "./target.js";
import { Tokenizer } from "./tokenizer.js";
import { Transformer } from "./transformer.js";

const WARM_UP = "one two three";
const pause = () => new Promise((resolve) => setTimeout(resolve)); // what was asked meanwhile comes first
let answering = null;

async function load(config, packed) {
  const files = {};
  for (const [name, letters] of Object.entries(packed)) files[name] = await unpacked(name, letters);
  const counts = "counting.json" in files, reads = "model.onnx" in files;
  answering = new Answering({
    config,
    target: new TargetOf(config),
    counting: counts ? new CountingReader(asJson(files["counting.json"]), asArrays(files["counting.safetensors"])) : null,
    body: "words.json" in files ? new BodyReader(asJson(files["words.json"]), asArrays(files["values.safetensors"])) : null,
    rules: "rules.json" in files ? new RulesReader(asJson(files["rules.json"])) : null,
    tokenizer: reads ? new Tokenizer(asJson(files["tokenizer.json"]), config.tokenizer) : null,
    transformer: reads ? await Transformer.load(ort, {
      wasm: files["runtime.wasm"], model: files["model.onnx"], maxSeqLen: config.max_seq_len, nClasses: config.width,
    }) : null,
    seen: "seen.safetensors" in files ? asArrays(files["seen.safetensors"]).hashes : null,
  });
  await answering.answer(WARM_UP); // the first answer takes longer than others
}

const TASKS = {
  load: ({ config, files }) => load(config, files),
  answer: ({ text }) => answering.answer(text),
  explanation: ({ text }) => answering.leaveOneOut(text, pause),
};

onmessage = async ({ data: { id, task, ...given } }) => {
  try {
    postMessage({ id, found: await TASKS[task](given) });
  } catch (error) {
    postMessage({ id, error: error?.message ?? String(error) });
  }
};
