// run makes calls through a client and writes their outcomes. connect returns an object with the
// tools' names and two functions: call, which returns structured content or throws, and close.
import { readFileSync, writeFileSync } from "node:fs";

export async function run(connect) {
  const [url, key, calls, outcomes] = process.argv.slice(2);
  const client = await connect(url, key);
  const all = [];
  for (const { tool, arguments: args } of JSON.parse(readFileSync(calls))) {
    try {
      if (!client.names.includes(tool)) throw new Error(`unknown tool ${tool}`);
      all.push({ structured: await client.call(tool, args) });
    } catch (error) {
      all.push({ error: String(error?.message ?? error) });
    }
  }
  await client.close();
  writeFileSync(outcomes, JSON.stringify(all));
}
