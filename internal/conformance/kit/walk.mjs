// What an assistant does with the service, by an official client library: it calls without credentials, is sent to sign in, calls
// tools, is refused a write, signs in for that too, and writes. The library does all of the protocol and of OAuth; this keeps what
// an app keeps, and plays the user. Every step is told on standard output, a line of JSON each; what requests were really made is for
// others to see.
import { randomUUID } from 'node:crypto';
import { parseArgs } from 'node:util';

import { authorize } from './browser.mjs';

const redirectUrl = 'http://127.0.0.1:9/callback'; // nobody listens there, and nobody goes there

// App is what an app keeps for the library: its registration, its tokens, and where to send the user.
class App {
  redirectUrl = redirectUrl;
  asked = []; // URLs to which the user was sent
  kept = {};

  constructor(library, grants) {
    this.clientMetadata = {
      client_name: `Conformance of ${library}`, redirect_uris: [redirectUrl], grant_types: grants, response_types: ['code'],
      token_endpoint_auth_method: 'none',
    };
  }

  state() { return (this.kept.state = randomUUID()); }
  clientInformation() { return this.kept.client; }
  saveClientInformation(client) { this.kept.client = client; }
  tokens() { return this.kept.tokens; }
  saveTokens(tokens) { this.kept.tokens = tokens; }
  codeVerifier() { return this.kept.verifier; }
  saveCodeVerifier(verifier) { this.kept.verifier = verifier; }
  discoveryState() { return this.kept.discovery; }
  saveDiscoveryState(discovery) { this.kept.discovery = discovery; }
  redirectToAuthorization(url) { this.asked.push(url); }

  // signIn does what the user does when sent to sign in, and returns what the issuer sends the app.
  async signIn(user) {
    const back = await authorize(this.asked.at(-1), redirectUrl, user);
    if (back.get('error')) throw new Error(`signing in failed: ${back}`);
    if (back.get('state') !== this.kept.state) throw new Error('the state is another');
    return back;
  }
}

const tell = (step, facts) => console.log(JSON.stringify({ step, ...facts }));

// refused returns once a call has been refused for want of authorization, and only then.
async function refused(UnauthorizedError, call) {
  try {
    await call();
  } catch (error) {
    if (error instanceof UnauthorizedError) return;
    throw error;
  }
  throw new Error('the call was let through');
}

// walk goes through it all. connect makes a client and a transport of the library; finish hands it what the issuer sent.
export async function walk({ library, grants, UnauthorizedError, connect, finish }) {
  const { values: { url, user } } = parseArgs({ options: { url: { type: 'string' }, user: { type: 'string' } } });
  const app = new App(library, grants);
  const open = async () => {
    const { client, transport } = connect(new URL(url), app);
    return { client, transport, connected: () => client.connect(transport) };
  };

  const first = await open();
  await refused(UnauthorizedError, first.connected);
  await finish(first.transport, await app.signIn(user));
  tell('signed in', { client_id: app.kept.client.client_id });

  const { client, transport, connected } = await open();
  await connected();
  const { tools } = await client.listTools();
  const found = await client.callTool({ name: 'search_colas', arguments: { approval_date_from: '2005-01-01', per_page: 1 } });
  tell('read', { tools: tools.map((t) => t.name), total: found.structuredContent.pagination.total, token: app.kept.tokens.access_token });

  const create = () => client.callTool({ name: 'create_saved_search', arguments: { name: `By ${library}`, filters: { brand_name: 'oak' } } });
  await refused(UnauthorizedError, create);
  await finish(transport, await app.signIn(user));
  const created = await create();
  if (created.isError) throw new Error(`it was not created: ${JSON.stringify(created.content)}`);
  tell('created', { uuid: created.structuredContent.data.uuid, token: app.kept.tokens.access_token, asked: app.asked.length });
  await client.close();
}
