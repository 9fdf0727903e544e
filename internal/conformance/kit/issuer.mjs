// A real authorization server for one resource. Apps register dynamically, PKCE is required, and access tokens are JWTs for that
// resource. Any user can sign in and gets a verified email address.
//
//   node issuer.mjs ISSUER RESOURCE PORT
//
// ISSUER is its public URL, which is the URL of a proxy. It listens on PORT of the loopback interface.
import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';

import Provider, { errors } from 'oidc-provider';

const [issuer, resource, port] = process.argv.slice(2);
const scopes = ['registry.read', 'saved_searches:write'];
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const addressOf = (subject) => ({ email: `${subject}@example.com`, email_verified: true });

const provider = new Provider(issuer, {
  jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256', kid: 'first' }] },
  cookies: { keys: ['cookie signing key'] },
  scopes: ['openid', 'offline_access', ...scopes],
  pkce: { required: () => true },
  findAccount: (_, subject) => ({ accountId: subject, claims: () => ({ sub: subject, ...addressOf(subject) }) }),
  // Clients register with the scopes they know at that time and request more later, so drop the limit.
  extraClientMetadata: { properties: ['scope'], validator: (_, __, ___, metadata) => void delete metadata.scope },
  extraTokenClaims: (_, token) => addressOf(token.accountId),
  ttl: { AccessToken: 3600, AuthorizationCode: 60, Grant: 3600, IdToken: 3600, Interaction: 600, RefreshToken: 3600, Session: 3600 },
  features: {
    devInteractions: { enabled: true },
    registration: { enabled: true },
    resourceIndicators: {
      enabled: true,
      useGrantedResource: () => true,
      getResourceServerInfo(_, asked) {
        if (asked !== resource) throw new errors.InvalidTarget(`unknown resource ${asked}`);
        return { scope: scopes.join(' '), audience: resource, accessTokenFormat: 'jwt', jwt: { sign: { alg: 'RS256' } } };
      },
    },
  },
});

provider.on('server_error', (_, error) => console.error(error));
const server = createServer(provider.callback());
server.listen(Number(port), '127.0.0.1');
process.on('SIGTERM', () => {
  server.close(() => process.exit(0));
  server.closeAllConnections();
});
