// Calls tools as an agent of the OpenAI Agents SDK does. The SDK converts the published schemas to
// its strict form. No model is called.
import { MCPServerStreamableHttp, RunContext, getAllMcpTools } from "@openai/agents";
import { run } from "./mcp.mjs";

await run(async (url, key) => {
  const server = new MCPServerStreamableHttp({ url, useStructuredContent: true, requestInit: { headers: { "X-API-Key": key } } });
  await server.connect();
  const tools = new Map((await getAllMcpTools({ mcpServers: [server], convertSchemasToStrict: true })).map((tool) => [tool.name, tool]));
  return {
    names: [...tools.keys()],
    call: async (name, args) => {
      const result = await tools.get(name).invoke(new RunContext({}), JSON.stringify(args));
      if (typeof result !== "string") throw new Error(JSON.stringify(result)); // a tool error has content, and no structured content
      return JSON.parse(result);
    },
    close: () => server.close(),
  };
});
