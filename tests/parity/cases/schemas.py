"""Results and schemas. Each result of each case is validated on the way (suite.CheckedBerth): here
is only that this cannot pass unseen."""

from suite import ParityTest, input_schema, mistakes, output_schema


class SchemasTest(ParityTest):
    def test_the_server_lists_the_schemas_that_results_are_validated_against(self):
        for tool in self.berth.list_tools():
            with self.subTest(tool["name"]):
                self.assertEqual(tool["outputSchema"], output_schema(tool["name"]))
                self.assertEqual(tool["inputSchema"], input_schema(tool["name"]))

    def test_a_result_that_is_not_what_the_schema_says_is_found(self):
        result = self.run_command("echo hi; sleep 300 >/dev/null 2>&1 &").structured
        schema = output_schema("bash_exec")
        self.assertEqual(mistakes(result, schema), [])
        for change in ({"exit_code": "0"}, {"exit_code": True}, {"fate": "fell"}, {"more": 1},
                       {"duration_ms": -1}, {"stdout": None}, {"left_running": [{"pid": 1}]},
                       {"stdout_stream": {}}):
            with self.subTest(change):
                self.assertNotEqual(mistakes({**result, **change}, schema), [])
        for name in schema["required"]:
            less = {key: value for key, value in result.items() if key != name}
            self.assertEqual(mistakes(less, schema), [f"result: {name} is missing"])
        with self.assertRaises(NotImplementedError):
            mistakes(result, {**schema, "oneOf": []})
