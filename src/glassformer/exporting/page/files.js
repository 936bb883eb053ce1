// The files that the page holds, compressed and as letters.

/** Throws what names the file if its letters were changed. */
export async function unpacked(name, letters) {
  try {
    return await bytesOf(letters);
  } catch {
    throw new Error(`its ${name} is damaged`);
  }
}

async function bytesOf(letters) {
  const packed = atob(letters.trim()), bytes = new Uint8Array(packed.length);
  for (let place = 0; place < packed.length; place += 1) bytes[place] = packed.charCodeAt(place);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

export const asJson = (bytes) => JSON.parse(new TextDecoder().decode(bytes));

/** The arrays of a safetensors file by name, floats as float32. */
export function asArrays(bytes) {
  const begin = 8 + Number(new DataView(bytes.buffer).getBigUint64(0, true));
  const header = asJson(bytes.subarray(8, begin));
  delete header.__metadata__;
  return Object.fromEntries(Object.entries(header).map(([name, { dtype, data_offsets: [start, end] }]) => {
    const part = bytes.slice(begin + start, begin + end).buffer;
    return [name, { F16: (raw) => halves(new Uint16Array(raw)), F32: (raw) => new Float32Array(raw), U32: (raw) => new Uint32Array(raw) }[dtype](part)];
  }));
}

function halves(bits) {
  return Float32Array.from(bits, (half) => {
    const sign = half & 0x8000 ? -1 : 1, exponent = (half >> 10) & 31, fraction = half & 1023;
    return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -24 * fraction);
  });
}
