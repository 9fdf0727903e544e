// Uses the service as an assistant does, with an official client library:
//
//   1. connect without credentials, get a challenge, and sign in
//   2. list and call tools
//   3. write, get a challenge for the missing scope, sign in again, and write
//
// The library implements the protocol and OAuth; this script stores the app's state and plays the user. It prints one line of JSON
// per step. The program that runs it checks the recorded requests.
import { randomUUID } from 'node:crypto';
import { parseArgs } from 'node:util';

import { authorize } from './browser.mjs';

const redirectUrl = 'http://127.0.0.1:9/callback'; // never visited

// App stores the state of an app for the library: registration, tokens, and authorization URLs.
class App {
  redirectUrl = redirectUrl;
  asked = []; // authorization URLs
  saved = {};

  constructor(library, grants) {
    this.clientMetadata = {
      client_name: `Conformance of ${library}`, redirect_uris: [redirectUrl], grant_types: grants, response_types: ['code'],
      token_endpoint_auth_method: 'none',
    };
  }

  state() { return (this.saved.state = randomUUID()); }
  clientInformation() { return this.saved.client; }
  saveClientInformation(client) { this.saved.client = client; }
  tokens() { return this.saved.tokens; }
  saveTokens(tokens) { this.saved.tokens = tokens; }
  codeVerifier() { return this.saved.verifier; }
  saveCodeVerifier(verifier) { this.saved.verifier = verifier; }
  discoveryState() { return this.saved.discovery; }
  saveDiscoveryState(discovery) { this.saved.discovery = discovery; }
  redirectToAuthorization(url) { this.asked.push(url); }

  // signIn signs in as the user and returns the parameters that the issuer sends to the app.
  async signIn(user) {
    const back = await authorize(this.asked.at(-1), redirectUrl, user);
    if (back.get('error')) throw new Error(`signing in failed: ${back}`);
    if (back.get('state') !== this.saved.state) throw new Error('wrong state');
    return back;
  }
}

const report = (step, facts) => console.log(JSON.stringify({ step, ...facts }));

// denied returns if a call fails for lack of authorization, and throws otherwise.
async function denied(UnauthorizedError, call) {
  try {
    await call();
  } catch (error) {
    if (error instanceof UnauthorizedError) return;
    throw error;
  }
  throw new Error('the call succeeded');
}

// walk runs all steps. connect creates a client and a transport; finish passes the issuer's parameters to the transport.
export async function walk({ library, grants, UnauthorizedError, connect, finish }) {
  const { values: { url, user } } = parseArgs({ options: { url: { type: 'string' }, user: { type: 'string' } } });
  const app = new App(library, grants);
  const open = async () => {
    const { client, transport } = connect(new URL(url), app);
    return { client, transport, connected: () => client.connect(transport) };
  };

  const first = await open();
  await denied(UnauthorizedError, first.connected);
  await finish(first.transport, await app.signIn(user));
  report('signed in', { client_id: app.saved.client.client_id });

  const { client, transport, connected } = await open();
  await connected();
  const { tools } = await client.listTools();
  const found = await client.callTool({ name: 'search_colas', arguments: { approval_date_from: '2005-01-01', per_page: 1 } });
  report('read', { tools: tools.map((t) => t.name), total: found.structuredContent.pagination.total, token: app.saved.tokens.access_token });

  const create = () => client.callTool({ name: 'create_saved_search', arguments: { name: `By ${library}`, filters: { brand_name: 'oak' } } });
  await denied(UnauthorizedError, create);
  await finish(transport, await app.signIn(user));
  const created = await create();
  if (created.isError) throw new Error(`not created: ${JSON.stringify(created.content)}`);
  report('created', { uuid: created.structuredContent.data.uuid, token: app.saved.tokens.access_token, asked: app.asked.length });
  await client.close();
}
