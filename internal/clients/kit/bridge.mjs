// Calls operations through the client that @hey-api/openapi-ts generates: each request to the bridge
// names an operation and its arguments, and the response holds what the client returned.
import { createRequire } from "node:module";
import { createServer } from "node:http";

const require = createRequire(import.meta.url);
const functions = new Map(Object.entries(require("./compiled/hey/index.js")).map(([name, f]) => [name.toLowerCase(), f]));
const { client } = require("./compiled/hey/client.gen.js");

async function call({ operation, key, path, query, body, headers }) {
  const f = functions.get(operation.toLowerCase());
  if (!f) return { error: `the generated client has no function for ${operation}` };
  const { data, error, response } = await f({ path, query, body, headers, auth: (scheme) => (scheme.type === "apiKey" ? key : undefined) });
  if (!response) return { error: String(error?.cause ?? error) };
  return { status: response.status, body: error ?? data };
}

const server = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const { base, ...what } = JSON.parse(Buffer.concat(chunks));
  client.setConfig({ baseUrl: base });
  const outcome = await call(what).catch((error) => ({ error: String(error) }));
  response.end(JSON.stringify(outcome));
});
server.listen(0, "127.0.0.1", () => console.log(`127.0.0.1:${server.address().port}`));
