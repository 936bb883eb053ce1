// The commands that do what a step does.

import { el } from "/page/dom.js";

const quoted = (part) => (/[^\w./-]/.test(part) ? `'${part.replaceAll("'", "'\\''")}'` : part);

/** A command as it is typed in a POSIX shell. */
export const typed = (...parts) => el("code", {}, parts.map(quoted).join(" "));

/** Settings as flags. */
const flags = (settings) => Object.entries(settings).flatMap(([name, values]) =>
  [values].flat().filter((value) => value !== null && value !== "").flatMap((value) => [`--${name}`, value]));

/** How the labels that the last round learned from are read. None if there was no round. */
export function ofLabels({ project, rounds }) {
  const settings = rounds.at(-1)?.settings;
  return settings && ["labels", `${project}/labels.csv`, ...flags(settings)];
}

/** The project's copy of the table, and the encoding that was named. */
export const tableOf = ({ project, table, encoding }) => [`${project}/tables/${table}`, ...flags({ encoding })];

/** How the columns of the table are read. */
export function ofColumns({ text, other_texts: others, columns, label, lower, task, separator, levels }) {
  const kind = separator ? { multilabel: separator } : levels ? { levels } : { task };
  const named = columns.map((name) => (/[",]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name));
  return flags({ text: [text, ...others], columns: named, label: [label, ...lower], ...kind });
}

/** Says which command does the same, in a place. Without one, the place is hidden. What is there already stays: it may be selected. */
export function showCommand(place, said, parts) {
  place.hidden = !parts;
  const shown = el("p", {}, ...(parts ? [`${said}: `, typed("glassformer", ...parts)] : []));
  if (place.textContent !== shown.textContent) place.replaceChildren(...shown.childNodes);
}
