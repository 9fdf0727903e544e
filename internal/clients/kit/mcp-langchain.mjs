// Calls tools as a LangChain agent does, which checks arguments against the published schemas.
import { MultiServerMCPClient } from "@langchain/mcp-adapters";
import { run } from "./mcp.mjs";

await run(async (url, key) => {
  const client = new MultiServerMCPClient({
    throwOnLoadError: true,
    mcpServers: { registry: { transport: "http", url, headers: { "X-API-Key": key } } },
  });
  const tools = new Map((await client.getTools()).map((tool) => [tool.name, tool]));
  return {
    names: [...tools.keys()],
    call: async (name, args) => {
      const message = await tools.get(name).invoke({ type: "tool_call", id: "1", name, args });
      if (message.status === "error") throw new Error(JSON.stringify(message.content));
      return message.artifact.find((part) => part.type === "mcp_structured_content")?.data;
    },
    close: () => client.close(),
  };
});
