// The server's answers. A refusal holds the server's reason; a server that is gone is told from one that refuses.

export class Refusal extends Error {
  constructor(reason, more = {}) {
    super(`${reason.replace(/^the /, "The ")}${reason.endsWith(".") ? "" : "."}`); // it may begin with a file's name
    Object.assign(this, more);
  }
}

export class Gone extends Error {}

export async function get(path) {
  return read(await reach(path));
}

export async function post(path, body, signal) {
  return read(await reach(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    signal,
  }));
}

export async function reach(path, options) {
  try {
    return await fetch(path, options);
  } catch (error) {
    throw error.name === "AbortError" ? error : new Gone();
  }
}

export async function read(response) {
  let found;
  try {
    found = await response.json();
  } catch {
    throw response.ok ? new Gone() : new Refusal(`the server answers with the error ${response.status}`);
  }
  if (!response.ok) throw new Refusal(found.reason, { parts: found.parts });
  return found;
}
