// Calls tools as the AI SDK does.
import { createMCPClient } from "@ai-sdk/mcp";
import { run } from "./mcp.mjs";

await run(async (url, key) => {
  const client = await createMCPClient({ transport: { type: "http", url, headers: { "X-API-Key": key } } });
  const tools = await client.tools();
  return {
    names: Object.keys(tools),
    call: async (name, args) => {
      const result = await tools[name].execute(args, { toolCallId: "1", messages: [] });
      if (result.isError) throw new Error(JSON.stringify(result.content));
      return result.structuredContent;
    },
    close: () => client.close(),
  };
});
