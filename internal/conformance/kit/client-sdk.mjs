// Runs the walk with @modelcontextprotocol/sdk, which supports the revisions with a handshake. It gets no refresh token: with one, it
// would try to obtain a missing scope by refreshing, which fails.
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

import { walk } from './walk.mjs';

await walk({
  library: '@modelcontextprotocol/sdk',
  grants: ['authorization_code'],
  UnauthorizedError,
  connect: (url, authProvider) => ({
    client: new Client({ name: 'colaregistry-conformance', version: '1' }),
    transport: new StreamableHTTPClientTransport(url, { authProvider }),
  }),
  finish: (transport, back) => transport.finishAuth(back.get('code')),
});
