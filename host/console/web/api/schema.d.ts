// Written by `npm run generate` from the server's document. Not by hand.

export interface paths {
    "/healthz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["get_health"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/readyz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["get_readiness"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["get_openapi"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/docs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["get_docs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["get_metrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/mcp": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["call_mcp"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/engines": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_engines"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/engines/{engine}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["get_engine"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/datasources": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_datasources"];
        put?: never;
        post: operations["create_datasource"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/datasources/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["get_datasource"];
        put: operations["update_datasource"];
        post?: never;
        delete: operations["delete_datasource"];
        options?: never;
        head?: never;
        patch: operations["patch_datasource"];
        trace?: never;
    };
    "/api/v1/datasources/{name}/files": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_files"];
        put?: never;
        post: operations["upload_file"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/datasources/{name}/files/{file}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete: operations["delete_file"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/datasources/{name}/catalog": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["get_catalog"];
        put?: never;
        post?: never;
        delete: operations["delete_catalog"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/datasources/{name}/catalog/refresh": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["refresh_catalog"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/datasources/{name}/catalog/tables": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["load_tables"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/datasources/{name}/catalog/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["cancel_catalog"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/datasources/{name}/catalog/tables/{table_name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete: operations["delete_table"];
        options?: never;
        head?: never;
        patch: operations["describe_table"];
        trace?: never;
    };
    "/api/v1/datasources/{name}/catalog/tables/{table_name}/columns/{column_name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch: operations["describe_column"];
        trace?: never;
    };
    "/api/v1/providers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_providers"];
        put?: never;
        post: operations["create_provider"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/providers/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["get_provider"];
        put: operations["update_provider"];
        post?: never;
        delete: operations["delete_provider"];
        options?: never;
        head?: never;
        patch: operations["patch_provider"];
        trace?: never;
    };
    "/api/v1/minds": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_minds"];
        put?: never;
        post: operations["create_mind"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/minds/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["get_mind"];
        put: operations["update_mind"];
        post?: never;
        delete: operations["delete_mind"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/minds/{name}/policies": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["get_policies"];
        put: operations["set_policies"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/minds/{name}/policies/preview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["preview_policies"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/minds/{name}/knowledge": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_knowledge"];
        put?: never;
        post: operations["create_knowledge"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/minds/{name}/knowledge/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["export_knowledge"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/minds/{name}/knowledge/import": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["import_knowledge"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/minds/{name}/knowledge/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["get_knowledge"];
        put: operations["update_knowledge"];
        post?: never;
        delete: operations["delete_knowledge"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/minds/{name}/feedback": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_feedback"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/minds/{name}/feedback/{id}/promote": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["promote_feedback"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/minds/{name}/evaluations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_evaluations"];
        put?: never;
        post: operations["start_evaluation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/minds/{name}/evaluations/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["get_evaluation"];
        put?: never;
        post?: never;
        delete: operations["delete_evaluation"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/minds/{name}/evaluations/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["cancel_evaluation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/models": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_models"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/models/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["get_model"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/chat/completions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["create_chat"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/responses": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["create_response"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/responses/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["get_response"];
        put?: never;
        post?: never;
        delete: operations["delete_response"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/responses/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["cancel_response"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/responses/{id}/feedback": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["give_feedback"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/conversations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_conversations"];
        put?: never;
        post: operations["create_conversation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/conversations/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["get_conversation"];
        put?: never;
        post: operations["update_conversation"];
        delete: operations["delete_conversation"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/conversations/{id}/items": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_items"];
        put?: never;
        post: operations["add_items"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/conversations/{id}/items/{item_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["get_item"];
        put?: never;
        post?: never;
        delete: operations["delete_item"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/conversations/{id}/items/{item_id}/result": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["get_result"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/conversations/{id}/items/{item_id}/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["export_result"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_keys"];
        put?: never;
        post: operations["create_key"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/keys/current": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["get_current_key"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/keys/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete: operations["revoke_key"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/keys/{id}/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["rotate_key"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/console/links": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["create_console_link"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/console/sign-in": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["sign_in_console"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_workspaces"];
        put?: never;
        post: operations["create_workspace"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["get_workspace"];
        put?: never;
        post?: never;
        delete: operations["delete_workspace"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workspaces/{name}/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["create_workspace_key"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/plugins": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_plugins"];
        put?: never;
        post: operations["install_plugin"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/plugins/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["get_plugin"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/plugins/{name}/activate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["activate_plugin"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/plugins/{name}/rollback": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["roll_back_plugin"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/plugins/{name}/rollouts/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["get_rollout"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/plugins/{name}/versions/{version}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete: operations["remove_plugin_version"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/plugins/{name}/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["get_plugin_usage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/plugins/{name}/release": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["release_plugin"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_audit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_usage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/running": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["list_running"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/running/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["stop_running"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        ActivatePlugin: {
            version?: string | null;
            canary?: components["schemas"]["Canary"] | null;
            force?: boolean;
            accept_rights?: string[];
        };
        AddItems: {
            items: components["schemas"]["Message"][];
        };
        AnswerDetails: {
            steps: components["schemas"]["Step"][];
            tables: string[];
            /** Format: u-int64 */
            row_count: number | null;
            truncated: boolean;
            assumptions: string[];
            follow_up_questions: string[];
            unverified_numbers?: string[];
            ending: string | null;
            error: components["schemas"]["AnswerFailure"] | null;
            feedback: components["schemas"]["AnswerRating"] | null;
        };
        AnswerFailure: {
            code: string;
            message: string;
            request_id: string | null;
        };
        AnswerFormat: {
            type?: string | null;
        };
        AnswerRating: {
            rating: components["schemas"]["Rating"];
            comment: string | null;
            corrected_sql: string | null;
        };
        AnswerText: {
            format?: components["schemas"]["AnswerFormat"] | null;
        };
        Attribute: components["schemas"]["Scalar"] | components["schemas"]["Scalar"][];
        AuditEntry: {
            id: string;
            /** Format: date-time */
            created_at: string;
            key_id: string | null;
            key_name: string | null;
            action: string;
            resource: string;
            mind: string | null;
            made: string | null;
            /** Format: u-int16 */
            status: number | null;
            request_id: string | null;
        };
        /** @enum {string} */
        Author: "user" | "assistant" | "system" | "developer";
        /** @enum {string} */
        Blame: "plugin" | "upstream" | "host";
        Canary: {
            /** Format: double */
            percent: number;
            /** Format: u-int64 */
            seconds: number;
        };
        Capabilities: {
            /** @default false */
            cancel: boolean;
            /** @default false */
            snapshot: boolean;
            /** @default sql */
            paging: components["schemas"]["Paging"];
        };
        /** @enum {string} */
        Cardinality: "one_to_one" | "one_to_many" | "many_to_one" | "many_to_many";
        Catalog: {
            datasource: components["schemas"]["DatasourceSummary"];
            total_tables: number;
            status: components["schemas"]["CatalogStatus"];
            tables: components["schemas"]["Table"][];
        };
        CatalogStatus: {
            overall_status: components["schemas"]["RunStatus"];
            /** Format: double */
            progress: number;
            message: string;
            /** Format: u-int32 */
            active_flow_runs: number;
            request_id: string | null;
        };
        ChangeConversation: {
            metadata: {
                [key: string]: string;
            } | null;
        };
        ChangeDatasource: {
            name?: string | null;
            engine?: string | null;
            description?: string | null;
            connection_data?: Record<string, never> | null;
            /** Format: u-int32 */
            max_connections?: number | null;
            statement_timeout?: string | null;
            send_values?: boolean | null;
            send_rows?: boolean | null;
            function_schemas?: string[] | null;
            plugin_digest?: string | null;
            shadow?: boolean | null;
        };
        ChangeMind: {
            name?: string | null;
            datasources?: components["schemas"]["MindDatasourceEntry"][] | null;
            provider?: string | null;
            model_name?: string | null;
            parameters?: components["schemas"]["MindParameters"] | null;
        };
        ChangeProvider: {
            name?: string | null;
            plugin?: string | null;
            description?: string | null;
            connection_data?: Record<string, never> | null;
            default?: boolean | null;
        };
        ChatAnswer: {
            role: string;
            content: string;
            refusal: string | null;
            annotations: Record<string, never>[];
        };
        ChatChoice: {
            /** Format: u-int8 */
            index: number;
            message: components["schemas"]["ChatAnswer"];
            /** Format: u-int8 */
            logprobs: number | null;
            finish_reason: string;
        };
        ChatCompletion: {
            /** Format: uuid */
            id: string;
            object: string;
            /** Format: int64 */
            created: number;
            model: string;
            choices: components["schemas"]["ChatChoice"][];
            usage: components["schemas"]["ChatUsage"];
            service_tier: string | null;
            system_fingerprint: string | null;
        };
        ChatMessage: {
            role: components["schemas"]["Author"];
            content?: components["schemas"]["MessageContent"] | null;
        };
        ChatUsage: {
            /** Format: u-int64 */
            prompt_tokens: number;
            /** Format: u-int64 */
            completion_tokens: number;
            /** Format: u-int64 */
            total_tokens: number;
        };
        Check: {
            workspace: string;
            name: string;
            outcome: components["schemas"]["Outcome"];
            message: string;
        };
        Column: {
            name: string;
            data_type: string;
            description: string | null;
            source_description: string | null;
            description_source: components["schemas"]["DescriptionSource"];
            default_value: string | null;
            is_nullable: boolean;
            statistics: components["schemas"]["ColumnStatistics"];
        };
        ColumnMask: "null" | "last4" | {
            text: string;
        } | {
            sql: string;
        };
        ColumnStatistics: {
            most_common_values: string[] | null;
            most_common_frequencies: number[] | null;
            /** Format: double */
            null_percentage: number;
            /** Format: u-int64 */
            distinct_values_count: number;
            min_value: string;
            max_value: string;
            estimated: boolean;
            /** Format: u-int64 */
            sampled_rows: number | null;
            truncated_values: boolean;
        };
        ColumnType: {
            name: string;
            type: components["schemas"]["DataType"];
            native_type: string;
        };
        /** @enum {string} */
        Compat: "minds-sdk";
        ConnectionStatus: {
            success: boolean;
            error_message: string | null;
        };
        ConsoleKey: {
            key: string;
        };
        ConsoleLink: {
            path: string;
            /** Format: date-time */
            expires_at: string;
        };
        ConsoleSignIn: {
            code: string;
        };
        Conversation: {
            /** Format: uuid */
            id: string;
            object: string;
            /** Format: int64 */
            created_at: number;
            metadata: {
                [key: string]: string;
            };
            model: string | null;
            key_id: string;
        };
        ConversationChoice: string | components["schemas"]["ConversationId"];
        ConversationId: {
            id: string;
        };
        ConversationOfResponse: {
            /** Format: uuid */
            id: string;
        };
        Counts: {
            /** Format: u-int64 */
            requests: number;
            /** Format: u-int64 */
            rows: number;
            /** Format: u-int64 */
            bytes: number;
            /** Format: u-int64 */
            input_tokens: number;
            /** Format: u-int64 */
            output_tokens: number;
        };
        CreatedKey: components["schemas"]["Key"] & {
            key: string;
        };
        CurrentKey: components["schemas"]["KeyFacts"] & {
            minds: string[] | null;
            workspace: string;
        };
        /** @enum {string} */
        DataType: "boolean" | "int64" | "uint64" | "float64" | "decimal" | "text" | "bytes" | "date" | "time" | "timestamp" | "timestamp-utc" | "json" | "any";
        Datasource: {
            id: string;
            name: string;
            description: string;
            engine: string;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            modified_at: string;
            connection_data?: Record<string, never> | null;
            /** Format: u-int32 */
            max_connections: number | null;
            statement_timeout: string | null;
            send_values: boolean;
            send_rows: boolean;
            function_schemas: string[];
            plugin_digest: string | null;
            shadow: boolean;
            connection_status?: components["schemas"]["ConnectionStatus"] | null;
        };
        DatasourceSummary: {
            id: string;
            name: string;
            description: string;
            engine: string;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            modified_at: string;
        };
        DeletedConversation: {
            /** Format: uuid */
            id: string;
            object: string;
            deleted: boolean;
        };
        DeletedMind: {
            name: string;
            deleted: boolean;
        };
        Describe: {
            description: string | null;
        };
        /** @enum {string} */
        DescriptionSource: "caller" | "source" | "none";
        /** @enum {string} */
        Dialect: "sqlite" | "postgresql" | "mysql" | "mssql" | "clickhouse" | "trino" | "generic" | "datafusion";
        Engine: {
            engine: string;
            aliases: string[];
            title: string;
            description: string;
            dialect: components["schemas"]["Dialect"] | null;
            capabilities: components["schemas"]["Capabilities"];
            connection_data: Record<string, never>;
            plugin: string;
            version: string;
            digest: string;
        };
        Error: {
            error: components["schemas"]["ErrorObject"];
            detail: string;
        };
        ErrorObject: {
            message: string;
            type: string;
            code: string;
            param: string | null;
            blame?: components["schemas"]["Blame"] | null;
            /** Format: u-int32 */
            position?: number | null;
            engine_code?: string | null;
            rights?: components["schemas"]["PluginRight"][];
        };
        Evaluation: {
            /** Format: uuid */
            id: string;
            suite: string;
            status: components["schemas"]["EvaluationStatus"];
            error: string | null;
            request_id: string | null;
            questions_count: number;
            judged_count: number;
            figures: components["schemas"]["EvaluationFigures"];
            currency: string;
            key_id: string;
            /** Format: date-time */
            started_at: string;
            /** Format: date-time */
            ended_at: string | null;
        };
        EvaluationChange: {
            id: string;
            question: string;
            before: components["schemas"]["EvaluationMark"];
            now: components["schemas"]["EvaluationMark"];
        };
        EvaluationDifference: {
            changed: components["schemas"]["EvaluationChange"][];
            added: string[];
            removed: string[];
            /** Format: double */
            accuracy?: number | null;
            before: components["schemas"]["EvaluationFigures"];
            now: components["schemas"]["EvaluationFigures"];
        };
        /** @enum {string} */
        EvaluationExpect: "answer" | "declined";
        EvaluationFigures: {
            answerable: number;
            right: number;
            wrong: number;
            declined: number;
            failed: number;
            unanswerable: number;
            rightly_declined: number;
            invalid: number;
            /** Format: double */
            accuracy?: number | null;
            /** Format: double */
            wrong_share?: number | null;
            /** Format: double */
            recall_tables?: number | null;
            /** Format: double */
            recall_columns?: number | null;
            recall_known: number;
            unsupported?: number;
            /** Format: u-int64 */
            repairs: number;
            /** Format: u-int64 */
            input_tokens: number;
            /** Format: u-int64 */
            output_tokens: number;
            /** Format: double */
            cost?: number | null;
            /** Format: u-int64 */
            latency_p50_ms?: number | null;
            /** Format: u-int64 */
            latency_p95_ms?: number | null;
        };
        EvaluationList: {
            object: string;
            data: components["schemas"]["Evaluation"][];
        };
        /** @enum {string} */
        EvaluationMark: "right" | "wrong" | "declined" | "failed" | "invalid";
        EvaluationQuestion: {
            id: string;
            question: string;
            expect: components["schemas"]["EvaluationExpect"];
            mark: components["schemas"]["EvaluationMark"];
            why?: string;
            sql?: string | null;
            gold?: string | null;
            text?: string;
            unsupported_numbers?: string[];
            /** Format: double */
            recall_tables?: number | null;
            /** Format: double */
            recall_columns?: number | null;
            /** Format: u-int32 */
            repairs?: number;
            /** Format: u-int64 */
            input_tokens?: number;
            /** Format: u-int64 */
            output_tokens?: number;
            /** Format: double */
            cost?: number | null;
            /** Format: u-int64 */
            latency_ms?: number;
        };
        EvaluationReport: components["schemas"]["Evaluation"] & {
            questions: components["schemas"]["EvaluationQuestion"][];
            difference: components["schemas"]["EvaluationDifference"] | null;
        };
        /** @enum {string} */
        EvaluationStatus: "running" | "completed" | "cancelled" | "failed" | "interrupted";
        Feedback: {
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            response_id: string;
            key_id: string;
            rating: components["schemas"]["Rating"];
            comment: string | null;
            corrected_sql: string | null;
            question: string | null;
            sql: string | null;
            knowledge_id: string | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
        };
        Figures: {
            /** Format: u-int64 */
            calls: number;
            /** Format: u-int64 */
            faults: number;
            /** Format: double */
            median_ms: number;
            /** Format: double */
            p95_ms: number;
        };
        ForeignKey: {
            constraint_name: string;
            /** Format: u-int32 */
            ordinal_position: number;
            column_name: string;
            referenced_schema: string;
            referenced_table: string;
            referenced_column: string;
        };
        Health: {
            status: string;
        };
        IncompleteDetails: {
            reason: string;
        };
        Input: components["schemas"]["NonEmptyText"] | components["schemas"]["InputItems"];
        InputItem: components["schemas"]["Message"] | components["schemas"]["ItemReference"] | components["schemas"]["SkippedItem"];
        InputItems: components["schemas"]["InputItem"][];
        InputTokensDetails: {
            /** Format: u-int64 */
            cached_tokens: number;
            /** Format: u-int64 */
            cache_write_tokens: number;
        };
        InspectedPlugin: components["schemas"]["Inspection"] & {
            wider_rights: components["schemas"]["PluginRight"][];
        };
        Inspection: components["schemas"]["VersionFacts"] & {
            manifest: Record<string, never>;
        };
        Installed: (components["schemas"]["VersionFacts"] | null) & components["schemas"]["Status"] & {
            file?: string | null;
        };
        Item: {
            type: string;
            /** Format: uuid */
            id: string;
            status: string;
            role: components["schemas"]["Author"];
            content: components["schemas"]["Part"][];
            /** Format: int64 */
            created_at: number;
            sql: string | null;
            /** Format: uuid */
            response_id?: string | null;
            answer?: components["schemas"]["AnswerDetails"] | null;
            failure?: components["schemas"]["AnswerFailure"] | null;
        };
        ItemReference: {
            type: string;
            id: string;
        };
        Key: components["schemas"]["KeyFacts"] & {
            minds: string[] | null;
            policies: components["schemas"]["Policy"][];
        };
        KeyFacts: {
            id: string;
            name: string;
            prefix: string;
            role: components["schemas"]["Role"];
            compat: components["schemas"]["Compat"] | null;
            attributes: {
                [key: string]: components["schemas"]["Attribute"];
            };
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            expires_at: string | null;
            /** Format: date-time */
            revoked_at: string | null;
            /** Format: date-time */
            last_used_at: string | null;
        };
        /** @enum {string} */
        Kind: "answer" | "sql_query" | "page" | "export";
        Knowledge: {
            name: string;
            text: string;
            /** @enum {string} */
            kind: "instruction";
        } | {
            name: string;
            synonyms?: string[];
            meaning: string;
            table?: string | null;
            column?: string | null;
            /** @enum {string} */
            kind: "term";
        } | {
            name: string;
            synonyms?: string[];
            description?: string | null;
            expression: string;
            from: string;
            filter?: string | null;
            /** @enum {string} */
            kind: "metric";
        } | {
            name: string;
            description?: string | null;
            from_table: string;
            from_columns: string[];
            to_table: string;
            to_columns: string[];
            cardinality?: components["schemas"]["Cardinality"] | null;
            /** @enum {string} */
            kind: "relationship";
        } | {
            question: string;
            sql: string;
            notes?: string | null;
            /** @enum {string} */
            kind: "verified_query";
        };
        KnowledgeEntry: {
            name: string;
            text: string;
            /** @enum {string} */
            kind: "instruction";
            id: string;
            status: components["schemas"]["KnowledgeStatus"];
            stale_reason: string | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            /** Format: date-time */
            checked_at: string;
        } | {
            name: string;
            synonyms?: string[];
            meaning: string;
            table?: string | null;
            column?: string | null;
            /** @enum {string} */
            kind: "term";
            id: string;
            status: components["schemas"]["KnowledgeStatus"];
            stale_reason: string | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            /** Format: date-time */
            checked_at: string;
        } | {
            name: string;
            synonyms?: string[];
            description?: string | null;
            expression: string;
            from: string;
            filter?: string | null;
            /** @enum {string} */
            kind: "metric";
            id: string;
            status: components["schemas"]["KnowledgeStatus"];
            stale_reason: string | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            /** Format: date-time */
            checked_at: string;
        } | {
            name: string;
            description?: string | null;
            from_table: string;
            from_columns: string[];
            to_table: string;
            to_columns: string[];
            cardinality?: components["schemas"]["Cardinality"] | null;
            /** @enum {string} */
            kind: "relationship";
            id: string;
            status: components["schemas"]["KnowledgeStatus"];
            stale_reason: string | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            /** Format: date-time */
            checked_at: string;
        } | {
            question: string;
            sql: string;
            notes?: string | null;
            /** @enum {string} */
            kind: "verified_query";
            id: string;
            status: components["schemas"]["KnowledgeStatus"];
            stale_reason: string | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            /** Format: date-time */
            checked_at: string;
        };
        KnowledgeImport: {
            /** Format: u-int64 */
            created: number;
            /** Format: u-int64 */
            updated: number;
            /** Format: u-int64 */
            unchanged: number;
            /** Format: u-int64 */
            deleted: number;
        };
        KnowledgeInstruction: {
            name: string;
            text: string;
        };
        KnowledgeMetric: {
            name: string;
            synonyms?: string[];
            description?: string | null;
            expression: string;
            from: string;
            filter?: string | null;
        };
        KnowledgeRelationship: {
            name: string;
            description?: string | null;
            from_table: string;
            from_columns: string[];
            to_table: string;
            to_columns: string[];
            cardinality?: components["schemas"]["Cardinality"] | null;
        };
        /** @enum {string} */
        KnowledgeStatus: "valid" | "stale";
        KnowledgeTerm: {
            name: string;
            synonyms?: string[];
            meaning: string;
            table?: string | null;
            column?: string | null;
        };
        KnowledgeVerifiedQuery: {
            question: string;
            sql: string;
            notes?: string | null;
        };
        LoadTables: {
            table_names: string[];
        };
        Message: {
            type?: string | null;
            role: components["schemas"]["Author"];
            content: components["schemas"]["MessageContent"];
        };
        MessageContent: components["schemas"]["NonEmptyText"] | components["schemas"]["MessageParts"];
        MessagePart: {
            type: components["schemas"]["MessagePartType"];
            text: components["schemas"]["NonEmptyText"];
        };
        /** @enum {string} */
        MessagePartType: "input_text" | "output_text" | "text";
        MessageParts: components["schemas"]["MessagePart"][];
        Mind: {
            name: string;
            datasources: components["schemas"]["MindDatasource"][];
            datasource_tables: components["schemas"]["MindDatasourceTables"][];
            provider: string;
            model_name: string;
            parameters: components["schemas"]["MindParameters"];
            created_at: string;
            updated_at: string;
            modified_at: string;
            status: components["schemas"]["MindStatus"];
        };
        MindDatasource: string | components["schemas"]["MindDatasourceTables"];
        MindDatasourceEntry: string | {
            name: string;
            tables?: string[] | null;
        };
        MindDatasourceTables: {
            name: string;
            tables: string[] | null;
        };
        MindParameters: {
            system_prompt?: string | null;
            prompt_template?: string | null;
            is_demo?: boolean | null;
            allow_direct_queries?: boolean | null;
        };
        MindStatus: components["schemas"]["CatalogStatus"] | components["schemas"]["RunStatus"];
        MissingVersion: {
            serves: string;
            digest: string;
            instead: string | null;
        };
        /** @enum {string} */
        Mode: "missing_only" | "all" | "force";
        Model: {
            id: string;
            object: string;
            /** Format: int64 */
            created: number;
            owned_by: string;
        };
        Models: {
            object: string;
            data: components["schemas"]["Model"][];
        };
        NewChat: {
            model: string;
            messages: components["schemas"]["ChatMessage"][];
            stream?: boolean | null;
            stream_options?: components["schemas"]["StreamOptions"] | null;
            /** Format: u-int32 */
            max_tokens?: number | null;
            /** Format: u-int32 */
            max_completion_tokens?: number | null;
            /** Format: double */
            temperature?: number | null;
            /** Format: double */
            top_p?: number | null;
            /** Format: double */
            presence_penalty?: number | null;
            /** Format: double */
            frequency_penalty?: number | null;
            /** Format: u-int32 */
            top_logprobs?: number | null;
            service_tier?: components["schemas"]["ServiceTier"] | null;
            safety_identifier?: string | null;
            prompt_cache_key?: string | null;
            metadata?: {
                [key: string]: string;
            } | null;
            store?: boolean | null;
            /** Format: u-int32 */
            n?: number | null;
            tools?: Record<string, never>[] | null;
            response_format?: components["schemas"]["AnswerFormat"] | null;
        };
        NewConsoleLink: {
            key: string;
        };
        NewConversation: {
            items?: components["schemas"]["Message"][] | null;
            metadata?: {
                [key: string]: string;
            } | null;
        };
        NewDatasource: {
            name: string;
            engine: string;
            description?: string | null;
            connection_data: Record<string, never>;
            /** Format: u-int32 */
            max_connections?: number | null;
            statement_timeout?: string | null;
            send_values?: boolean | null;
            send_rows?: boolean | null;
            function_schemas?: string[] | null;
            plugin_digest?: string | null;
            shadow?: boolean | null;
        };
        NewEvaluation: {
            suite: string;
            /** @default 4 */
            jobs: number | null;
            limit?: number | null;
        };
        NewFeedback: {
            rating: components["schemas"]["Rating"];
            comment?: string | null;
            corrected_sql?: string | null;
        };
        NewKey: {
            name: string;
            role: components["schemas"]["Role"];
            minds?: string[] | null;
            /** Format: date-time */
            expires_at?: string | null;
            compat?: components["schemas"]["Compat"] | null;
            attributes?: {
                [key: string]: components["schemas"]["Attribute"];
            };
            policies?: components["schemas"]["NewPolicy"][];
        };
        NewMind: {
            name: string;
            datasources: components["schemas"]["MindDatasourceEntry"][];
            provider?: string | null;
            model_name?: string | null;
            parameters?: components["schemas"]["MindParameters"] | null;
        };
        NewPolicy: {
            datasource: string;
            table: string;
            filter?: string | null;
            hidden?: string[];
            masked?: {
                [key: string]: components["schemas"]["ColumnMask"];
            };
        };
        NewProvider: {
            name: string;
            plugin: string;
            description?: string | null;
            connection_data?: Record<string, never>;
            default?: boolean;
        };
        NewResponse: {
            model: string;
            input?: components["schemas"]["Input"] | null;
            conversation?: components["schemas"]["ConversationChoice"] | null;
            previous_response_id?: string | null;
            stream?: boolean | null;
            tools?: components["schemas"]["SqlQueryTool"][] | null;
            instructions?: string | null;
            metadata?: {
                [key: string]: string;
            } | null;
            /** Format: u-int32 */
            max_output_tokens?: number | null;
            /** Format: double */
            temperature?: number | null;
            /** Format: double */
            top_p?: number | null;
            /** Format: double */
            presence_penalty?: number | null;
            /** Format: double */
            frequency_penalty?: number | null;
            /** Format: u-int32 */
            top_logprobs?: number | null;
            /** Format: u-int32 */
            max_tool_calls?: number | null;
            service_tier?: components["schemas"]["ServiceTier"] | null;
            safety_identifier?: string | null;
            prompt_cache_key?: string | null;
            truncation?: components["schemas"]["Truncation"] | null;
            text?: components["schemas"]["AnswerText"] | null;
            store?: boolean | null;
            background?: boolean | null;
            include?: string[] | null;
        };
        NewWorkspace: {
            name: string;
        };
        NewWorkspaceKey: {
            name: string;
            role: components["schemas"]["Role"];
            /** Format: date-time */
            expires_at?: string | null;
            compat?: components["schemas"]["Compat"] | null;
            attributes?: {
                [key: string]: components["schemas"]["Attribute"];
            };
        };
        NonEmptyText: string;
        /** @enum {string} */
        Outcome: "passed" | "failed" | "failed_before";
        OutputItem: components["schemas"]["OutputMessage"] | components["schemas"]["QueryResult"];
        OutputMessage: {
            type: string;
            /** Format: uuid */
            id: string;
            status: string;
            role: string;
            content: components["schemas"]["OutputText"][];
            sql: string | null;
            chart?: Record<string, never> | null;
            chart_reason?: string | null;
            tables: string[];
            /** Format: u-int64 */
            row_count: number | null;
            truncated: boolean;
            assumptions: string[];
            follow_up_questions: string[];
            unverified_numbers?: string[];
            ending: string | null;
        };
        OutputText: {
            type: string;
            text: string;
            annotations: Record<string, never>[];
            logprobs: Record<string, never>[];
        };
        OutputTokensDetails: {
            /** Format: u-int64 */
            reasoning_tokens: number;
        };
        Page_AuditEntry: {
            object: string;
            data: {
                id: string;
                /** Format: date-time */
                created_at: string;
                key_id: string | null;
                key_name: string | null;
                action: string;
                resource: string;
                mind: string | null;
                made: string | null;
                /** Format: u-int16 */
                status: number | null;
                request_id: string | null;
            }[];
            first_id: string | null;
            last_id: string | null;
            has_more: boolean;
        };
        Page_Conversation: {
            object: string;
            data: {
                /** Format: uuid */
                id: string;
                object: string;
                /** Format: int64 */
                created_at: number;
                metadata: {
                    [key: string]: string;
                };
                model: string | null;
                key_id: string;
            }[];
            first_id: string | null;
            last_id: string | null;
            has_more: boolean;
        };
        Page_Feedback: {
            object: string;
            data: {
                /** Format: uuid */
                id: string;
                /** Format: uuid */
                response_id: string;
                key_id: string;
                rating: components["schemas"]["Rating"];
                comment: string | null;
                corrected_sql: string | null;
                question: string | null;
                sql: string | null;
                knowledge_id: string | null;
                /** Format: date-time */
                created_at: string;
                /** Format: date-time */
                updated_at: string;
            }[];
            first_id: string | null;
            last_id: string | null;
            has_more: boolean;
        };
        Page_Item: {
            object: string;
            data: {
                type: string;
                /** Format: uuid */
                id: string;
                status: string;
                role: components["schemas"]["Author"];
                content: components["schemas"]["Part"][];
                /** Format: int64 */
                created_at: number;
                sql: string | null;
                /** Format: uuid */
                response_id?: string | null;
                answer?: components["schemas"]["AnswerDetails"] | null;
                failure?: components["schemas"]["AnswerFailure"] | null;
            }[];
            first_id: string | null;
            last_id: string | null;
            has_more: boolean;
        };
        Page_KnowledgeEntry: {
            object: string;
            data: components["schemas"]["KnowledgeEntry"][];
            first_id: string | null;
            last_id: string | null;
            has_more: boolean;
        };
        /** @enum {string} */
        Paging: "sql" | "in-memory";
        Part: {
            text: string;
            annotations: Record<string, never>[];
            logprobs: Record<string, never>[];
            /** @enum {string} */
            type: "output_text";
        } | {
            text: string;
            /** @enum {string} */
            type: "input_text";
        };
        Plugin: {
            name: string;
            kind: components["schemas"]["PluginKind"];
            active: string | null;
            missing: components["schemas"]["MissingVersion"][];
            connection_data: Record<string, never> | null;
            versions: components["schemas"]["PluginVersion"][];
            rollouts: components["schemas"]["Rollout"][];
        };
        PluginFigures: {
            /** Format: u-int64 */
            calls: number;
            /** Format: u-int64 */
            call_ns: number;
            /** Format: u-int64 */
            cpu_ns: number;
            /** Format: u-int64 */
            upstream_ns: number;
            /** Format: u-int64 */
            plugin_errors: number;
            /** Format: u-int64 */
            upstream_errors: number;
            /** Format: u-int64 */
            host_errors: number;
            /** Format: u-int64 */
            caller_errors: number;
            /** Format: u-int64 */
            traps: number;
            /** Format: u-int64 */
            refused: number;
            /** Format: u-int64 */
            received_bytes: number;
            /** Format: u-int64 */
            sent_bytes: number;
            /** Format: u-int64 */
            result_bytes: number;
            /** Format: u-int64 */
            rows: number;
            /** Format: u-int64 */
            input_tokens: number;
            /** Format: u-int64 */
            output_tokens: number;
            /** Format: u-int64 */
            instances_started: number;
            /** Format: u-int64 */
            peak_memory_bytes: number;
        };
        PluginHealth: {
            status: components["schemas"]["PluginHealthStatus"];
            /** Format: date-time */
            until: string | null;
            /** Format: date-time */
            since: string | null;
            reason: string | null;
            workspaces: components["schemas"]["WorkspaceInTrouble"][];
            targets: components["schemas"]["TargetInTrouble"][];
        };
        /** @enum {string} */
        PluginHealthStatus: "ok" | "backing_off" | "quarantined";
        /** @enum {string} */
        PluginKind: "connector" | "model";
        PluginReleased: {
            object: string;
            plugin: string;
            workspace: string | null;
            versions: components["schemas"]["PluginVersionReleased"][];
        };
        PluginRight: {
            name: string;
            description: string;
        };
        PluginTargetUsage: {
            id: string;
            name: string;
            workspace: string;
            /** Format: u-int64 */
            instances: number;
            figures: components["schemas"]["PluginFigures"];
        };
        PluginUsage: {
            object: string;
            plugin: string;
            /** Format: date */
            from: string;
            /** Format: date */
            until: string;
            since_start: components["schemas"]["PluginVersionUsage"][];
            days: components["schemas"]["PluginUsageLine"][];
            has_more: boolean;
        };
        PluginUsageLine: {
            /** Format: date */
            day: string;
            version: string;
            digest: string;
            target_id: string;
            target: string;
            workspace: string;
            figures: components["schemas"]["PluginFigures"];
        };
        PluginVersion: components["schemas"]["Installed"] & {
            rights: components["schemas"]["PluginRight"][];
            health?: components["schemas"]["PluginHealth"] | null;
            wider_rights: components["schemas"]["PluginRight"][];
        };
        PluginVersionReleased: {
            version: string;
            digest: string;
            was_in_trouble: boolean;
            health: components["schemas"]["PluginHealth"];
        };
        PluginVersionUsage: {
            version: string;
            digest: string;
            health: components["schemas"]["PluginHealth"];
            /** Format: u-int64 */
            instances: number;
            figures: components["schemas"]["PluginFigures"];
            targets: components["schemas"]["PluginTargetUsage"][];
        };
        Policies: {
            policies: components["schemas"]["Policy"][];
        };
        Policy: {
            datasource: string;
            table: string;
            filter: string | null;
            hidden: string[];
            masked: {
                [key: string]: components["schemas"]["ColumnMask"];
            };
            problem: string | null;
        };
        PolicyPreview: {
            object: string;
            column_names: string[];
            column_types: components["schemas"]["ColumnType"][];
            data: unknown[][];
            /** Format: u-int64 */
            total: number;
        };
        PreviewPolicies: {
            datasource: string;
            table: string;
            attributes?: {
                [key: string]: components["schemas"]["Attribute"];
            };
            policies?: components["schemas"]["NewPolicy"][] | null;
            key_policies?: components["schemas"]["NewPolicy"][];
            /** Format: u-int32 */
            limit?: number | null;
        };
        PrimaryKeyColumn: {
            column_name: string;
            /** Format: u-int32 */
            ordinal_position: number;
            constraint_name: string;
        };
        PromoteFeedback: {
            question?: string | null;
            sql?: string | null;
            notes?: string | null;
        };
        Provider: {
            id: string;
            name: string;
            plugin: string;
            description: string;
            default: boolean;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            modified_at: string;
            connection_data?: Record<string, never> | null;
        };
        QueryResult: {
            type: string;
            /** Format: uuid */
            id: string;
            status: string;
            query: string;
            executed_query?: string | null;
            column_names: string[];
            column_types: components["schemas"]["ColumnType"][];
            data: unknown[][];
            /** Format: u-int64 */
            total: number;
            has_more: boolean;
            snapshot?: string | null;
            explain?: Record<string, never> | null;
            chart?: Record<string, never> | null;
            chart_reason?: string | null;
            error?: components["schemas"]["Unavailable"] | null;
        };
        /** @enum {string} */
        Rating: "up" | "down";
        Readiness: {
            status: string;
            compiling: string[];
            missing: components["schemas"]["MissingVersion"][];
        };
        Reasoning: {
            effort: string | null;
            summary: string | null;
        };
        RefreshCatalog: {
            table_names?: string[] | null;
            mode?: components["schemas"]["Mode"] | null;
        };
        Response: {
            /** Format: uuid */
            id: string;
            object: string;
            /** Format: int64 */
            created_at: number;
            /** Format: int64 */
            completed_at: number | null;
            status: components["schemas"]["ResponseStatus"];
            error: components["schemas"]["ResponseError"] | null;
            incomplete_details: components["schemas"]["IncompleteDetails"] | null;
            ending: string | null;
            model: string;
            output: components["schemas"]["OutputItem"][];
            conversation: components["schemas"]["ConversationOfResponse"] | null;
            /** Format: uuid */
            previous_response_id: string | null;
            instructions: string | null;
            metadata: {
                [key: string]: string;
            };
            usage: components["schemas"]["ResponseUsage"];
            background: boolean;
            store: boolean;
            /** Format: u-int32 */
            max_output_tokens: number | null;
            /** Format: double */
            temperature: number;
            /** Format: double */
            top_p: number;
            /** Format: double */
            presence_penalty: number;
            /** Format: double */
            frequency_penalty: number;
            /** Format: u-int32 */
            top_logprobs: number;
            /** Format: u-int32 */
            max_tool_calls: number | null;
            service_tier: components["schemas"]["ServiceTier"];
            safety_identifier: string | null;
            prompt_cache_key: string | null;
            parallel_tool_calls: boolean;
            tool_choice: string;
            tools: Record<string, never>[];
            text: components["schemas"]["ResponseText"];
            truncation: string;
            reasoning: components["schemas"]["Reasoning"];
            user: string | null;
        };
        ResponseError: {
            code: string;
            message: string;
            request_id: string | null;
        };
        /** @enum {string} */
        ResponseStatus: "created" | "in_progress" | "completed" | "failed" | "cancelled";
        ResponseText: {
            format: components["schemas"]["TextFormat"];
        };
        ResponseUsage: {
            /** Format: u-int64 */
            input_tokens: number;
            input_tokens_details: components["schemas"]["InputTokensDetails"];
            /** Format: u-int64 */
            output_tokens: number;
            output_tokens_details: components["schemas"]["OutputTokensDetails"];
            /** Format: u-int64 */
            total_tokens: number;
        };
        ResultPage: {
            result: components["schemas"]["ResultRows"];
            /** Format: u-int64 */
            total: number;
            is_pagination_consistent: boolean;
            snapshot?: string | null;
            chart?: Record<string, never> | null;
            chart_reason?: string | null;
        };
        ResultRows: {
            data: unknown[][];
            column_names: string[];
            column_types: components["schemas"]["ColumnType"][];
        };
        /** @enum {string} */
        Role: "user" | "editor" | "admin" | "operator";
        Rollout: {
            /** Format: uuid */
            id: string;
            plugin: string;
            from: string | null;
            to: string;
            version: string;
            stage: components["schemas"]["Stage"];
            reason: string | null;
            accepted_rights?: components["schemas"]["PluginRight"][];
            checks: components["schemas"]["Check"][];
            /** Format: double */
            canary_share: number | null;
            stable: components["schemas"]["Figures"];
            candidate: components["schemas"]["Figures"];
            is_rollback: boolean;
            started_by: string | null;
            request_id: string | null;
            /** Format: date-time */
            started_at: string;
            /** Format: date-time */
            ended_at: string | null;
        };
        RotateKey: {
            /** Format: date-time */
            expires_at?: string | null;
        };
        /** @enum {string} */
        RunStatus: "NOT_STARTED" | "PENDING" | "LOADING" | "COMPLETED" | "FAILED" | "CANCELLED";
        Running: {
            id: string;
            kind: components["schemas"]["Kind"];
            key_id: string;
            mind: string;
            text: string | null;
            background: boolean;
            on_this_host: boolean;
            /** Format: date-time */
            started_at: string;
        };
        RunningList: {
            object: string;
            data: components["schemas"]["Running"][];
        };
        Scalar: boolean | number | string;
        SentEvent: {
            event?: string | null;
            data: string;
        };
        /** @enum {string} */
        ServiceTier: "auto" | "default" | "flex" | "scale" | "priority";
        SetPolicies: {
            policies: components["schemas"]["NewPolicy"][];
        };
        ShownTable: {
            name: string;
            columns: string[];
        };
        SkippedItem: {
            type: string;
        };
        SqlQueryTool: {
            type: string;
            query: string;
            /**
             * Format: u-int64
             * @default 10000
             */
            max_inline_rows: number | null;
            /** @default false */
            explain: boolean | null;
        };
        /** @enum {string} */
        Stage: "compiling" | "checking" | "canary" | "probation" | "completed" | "rolled_back" | "failed";
        Status: {
            /** @enum {string} */
            status: "active";
        } | {
            reason: string;
            /** @enum {string} */
            status: "inactive";
        } | {
            reason: string;
            /** @enum {string} */
            status: "refused";
        };
        Step: {
            name: string;
            status: components["schemas"]["StepStatus"];
            sql?: string | null;
            message: string;
            /** Format: u-int64 */
            duration_ms: number;
            tables?: components["schemas"]["ShownTable"][];
        };
        /** @enum {string} */
        StepStatus: "completed" | "failed";
        StoredFile: {
            name: string;
            /** Format: u-int64 */
            bytes: number;
            /** Format: date-time */
            modified_at: string;
        };
        StreamOptions: {
            include_usage?: boolean | null;
        };
        Table: {
            name: string;
            schema: string;
            description: string | null;
            source_description: string | null;
            description_source: components["schemas"]["DescriptionSource"];
            type: string;
            /** Format: u-int64 */
            row_count: number;
            row_count_known: boolean;
            status: components["schemas"]["TableStatus"];
            error: string | null;
            error_request_id: string | null;
            missing: boolean;
            /** Format: date-time */
            loaded_at: string | null;
            columns: components["schemas"]["Column"][];
            primary_key_constraints: components["schemas"]["PrimaryKeyColumn"][];
            foreign_key_constraints: components["schemas"]["ForeignKey"][];
        };
        /** @enum {string} */
        TableStatus: "NOT_CATALOGED" | "PENDING" | "LOADING" | "COMPLETED" | "FAILED" | "CANCELLED";
        TargetInTrouble: {
            id: string;
            name: string;
            workspace: string;
            /** Format: date-time */
            until: string;
            reason: string;
        };
        TextFormat: {
            type: string;
        };
        /** @enum {string} */
        Truncation: "auto" | "disabled";
        Unavailable: {
            code: string;
            message: string;
        };
        Usage: {
            object: string;
            /** Format: date */
            from: string;
            /** Format: date */
            until: string;
            data: components["schemas"]["UsageLine"][];
            has_more: boolean;
        };
        UsageLine: components["schemas"]["Counts"] & {
            /** Format: date */
            day: string | null;
            key_id: string | null;
            key_name: string | null;
            mind: string | null;
        };
        VersionFacts: {
            name: string;
            title: string;
            version: string;
            kind: components["schemas"]["PluginKind"];
            engines: string[];
            digest: string;
            /** Format: u-int64 */
            size: number;
            signer?: string | null;
            world: string;
            wit: string;
        };
        Workspace: {
            id: string;
            name: string;
            files_directory: string;
            /** Format: date-time */
            created_at: string;
        };
        WorkspaceInTrouble: {
            workspace: string;
            status: components["schemas"]["PluginHealthStatus"];
            /** Format: date-time */
            until: string | null;
            /** Format: date-time */
            since: string | null;
            reason: string;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: {
        "x-request-id": string;
        "retry-after": number;
        "www-authenticate": string;
    };
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    get_health: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok"
                     *     }
                     */
                    "application/json": components["schemas"]["Health"];
                };
            };
        };
    };
    get_readiness: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ready",
                     *       "compiling": [
                     *         "text"
                     *       ],
                     *       "missing": [
                     *         {
                     *           "serves": "connector postgres",
                     *           "digest": "1b3d5f60718293a4b5c6d7e8f9010213243546576879808a9bacbdce9f2c4a7b",
                     *           "instead": null
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["Readiness"];
                };
            };
        };
    };
    get_openapi: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "openapi": "3.1.0",
                     *       "info": {
                     *         "title": "Mindhost",
                     *         "version": "0.1.0"
                     *       },
                     *       "paths": {}
                     *     }
                     */
                    "application/json": Record<string, never>;
                };
            };
        };
    };
    get_docs: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
        };
    };
    get_metrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/openmetrics-text": string;
                };
            };
        };
    };
    call_mcp: {
        parameters: {
            query?: never;
            header: {
                accept: string;
                "mcp-protocol-version"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "jsonrpc": "2.0",
                 *       "id": 1,
                 *       "method": "tools/list"
                 *     }
                 */
                "application/json": Record<string, never>;
            };
        };
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "jsonrpc": "2.0",
                     *       "id": 1,
                     *       "result": {
                     *         "tools": []
                     *       }
                     *     }
                     */
                    "application/json": Record<string, never>;
                    /**
                     * @example {
                     *       "data": "{\"jsonrpc\": \"2.0\", \"id\": 1, \"result\": {\"tools\": []}}"
                     *     }
                     */
                    "text/event-stream": components["schemas"]["SentEvent"];
                };
            };
            202: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    list_engines: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Engine"][];
                };
            };
        };
    };
    get_engine: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                engine: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "engine": "postgres",
                     *       "aliases": [
                     *         "postgresql"
                     *       ],
                     *       "title": "PostgreSQL",
                     *       "dialect": "postgresql",
                     *       "capabilities": {
                     *         "cancel": false,
                     *         "snapshot": false,
                     *         "paging": "sql"
                     *       },
                     *       "connection_data": {
                     *         "type": "object",
                     *         "properties": {
                     *           "host": {
                     *             "type": "string"
                     *           }
                     *         },
                     *         "required": [
                     *           "host"
                     *         ]
                     *       },
                     *       "plugin": "connector-postgres",
                     *       "version": "1.2.0",
                     *       "digest": "1b3d5f60718293a4b5c6d7e8f9010213243546576879808a9bacbdce9f2c4a7b"
                     *     }
                     */
                    "application/json": components["schemas"]["Engine"];
                };
            };
        };
    };
    list_datasources: {
        parameters: {
            query?: {
                check_connection?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Datasource"][];
                };
            };
        };
    };
    create_datasource: {
        parameters: {
            query?: {
                check_connection?: boolean;
            };
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "shop",
                 *       "engine": "sqlite",
                 *       "connection_data": {
                 *         "path": "shop.db"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["NewDatasource"];
            };
        };
        responses: {
            201: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *       "name": "shop",
                     *       "engine": "sqlite",
                     *       "created_at": "2026-01-15T09:30:00Z",
                     *       "modified_at": "2026-01-15T09:30:00Z",
                     *       "connection_data": {
                     *         "path": "shop.db"
                     *       },
                     *       "max_connections": null,
                     *       "statement_timeout": "30s",
                     *       "send_values": true,
                     *       "send_rows": true,
                     *       "function_schemas": [],
                     *       "plugin_digest": null,
                     *       "shadow": false
                     *     }
                     */
                    "application/json": components["schemas"]["Datasource"];
                };
            };
        };
    };
    get_datasource: {
        parameters: {
            query?: {
                check_connection?: boolean;
            };
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *       "name": "shop",
                     *       "engine": "sqlite",
                     *       "created_at": "2026-01-15T09:30:00Z",
                     *       "modified_at": "2026-01-15T09:30:00Z",
                     *       "connection_data": {
                     *         "path": "shop.db"
                     *       },
                     *       "max_connections": null,
                     *       "statement_timeout": "30s",
                     *       "send_values": true,
                     *       "send_rows": true,
                     *       "function_schemas": [],
                     *       "plugin_digest": null,
                     *       "shadow": false
                     *     }
                     */
                    "application/json": components["schemas"]["Datasource"];
                };
            };
        };
    };
    update_datasource: {
        parameters: {
            query?: {
                check_connection?: boolean;
            };
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "statement_timeout": "30s"
                 *     }
                 */
                "application/json": components["schemas"]["ChangeDatasource"];
            };
        };
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *       "name": "shop",
                     *       "engine": "sqlite",
                     *       "created_at": "2026-01-15T09:30:00Z",
                     *       "modified_at": "2026-01-15T09:30:00Z",
                     *       "connection_data": {
                     *         "path": "shop.db"
                     *       },
                     *       "max_connections": null,
                     *       "statement_timeout": "30s",
                     *       "send_values": true,
                     *       "send_rows": true,
                     *       "function_schemas": [],
                     *       "plugin_digest": null,
                     *       "shadow": false
                     *     }
                     */
                    "application/json": components["schemas"]["Datasource"];
                };
            };
        };
    };
    delete_datasource: {
        parameters: {
            query?: {
                cascade?: boolean;
            };
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    patch_datasource: {
        parameters: {
            query?: {
                check_connection?: boolean;
            };
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "statement_timeout": "30s"
                 *     }
                 */
                "application/json": components["schemas"]["ChangeDatasource"];
            };
        };
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *       "name": "shop",
                     *       "engine": "sqlite",
                     *       "created_at": "2026-01-15T09:30:00Z",
                     *       "modified_at": "2026-01-15T09:30:00Z",
                     *       "connection_data": {
                     *         "path": "shop.db"
                     *       },
                     *       "max_connections": null,
                     *       "statement_timeout": "30s",
                     *       "send_values": true,
                     *       "send_rows": true,
                     *       "function_schemas": [],
                     *       "plugin_digest": null,
                     *       "shadow": false
                     *     }
                     */
                    "application/json": components["schemas"]["Datasource"];
                };
            };
        };
    };
    list_files: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StoredFile"][];
                };
            };
        };
    };
    upload_file: {
        parameters: {
            query?: {
                name?: string;
                overwrite?: boolean;
            };
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/octet-stream": number[];
                "multipart/form-data": string;
            };
        };
        responses: {
            201: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "name": "sales",
                     *       "bytes": 52310,
                     *       "modified_at": "2026-01-15T09:30:00Z"
                     *     }
                     */
                    "application/json": components["schemas"]["StoredFile"];
                };
            };
        };
    };
    delete_file: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
                file: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    get_catalog: {
        parameters: {
            query?: {
                mind?: string;
                search?: string;
            };
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "datasource": {
                     *         "id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *         "name": "shop",
                     *         "engine": "sqlite",
                     *         "created_at": "2026-01-15T09:30:00Z",
                     *         "modified_at": "2026-01-15T09:30:00Z"
                     *       },
                     *       "total_tables": 1,
                     *       "status": {
                     *         "overall_status": "COMPLETED",
                     *         "progress": 1,
                     *         "message": "",
                     *         "active_flow_runs": 0,
                     *         "request_id": "0198f3c2-7a50-7b3f-8c21-9e0d4f6a1b22"
                     *       },
                     *       "tables": [
                     *         {
                     *           "name": "orders",
                     *           "schema": "main",
                     *           "source_description": "Orders since 2020.",
                     *           "description_source": "source",
                     *           "type": "TABLE",
                     *           "row_count": 1250,
                     *           "row_count_known": true,
                     *           "status": "COMPLETED",
                     *           "error": null,
                     *           "error_request_id": null,
                     *           "missing": false,
                     *           "loaded_at": "2026-01-15T09:30:04Z",
                     *           "columns": [
                     *             {
                     *               "name": "total",
                     *               "data_type": "numeric(12,2)",
                     *               "source_description": "In euros.",
                     *               "description_source": "source",
                     *               "default_value": null,
                     *               "is_nullable": false,
                     *               "statistics": {
                     *                 "most_common_values": [
                     *                   "9.99",
                     *                   "24.50"
                     *                 ],
                     *                 "most_common_frequencies": [
                     *                   0.2,
                     *                   0.1
                     *                 ],
                     *                 "null_percentage": 0,
                     *                 "distinct_values_count": 731,
                     *                 "min_value": "1.50",
                     *                 "max_value": "980.00",
                     *                 "estimated": false,
                     *                 "sampled_rows": 1250,
                     *                 "truncated_values": false
                     *               }
                     *             }
                     *           ],
                     *           "primary_key_constraints": [
                     *             {
                     *               "column_name": "id",
                     *               "ordinal_position": 1,
                     *               "constraint_name": "orders_pkey"
                     *             }
                     *           ],
                     *           "foreign_key_constraints": [
                     *             {
                     *               "constraint_name": "orders_customer_fkey",
                     *               "ordinal_position": 1,
                     *               "column_name": "customer_id",
                     *               "referenced_schema": "main",
                     *               "referenced_table": "customers",
                     *               "referenced_column": "id"
                     *             }
                     *           ]
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["Catalog"];
                };
            };
        };
    };
    delete_catalog: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    refresh_catalog: {
        parameters: {
            query?: {
                wait?: number;
            };
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "table_names": [
                 *         "main.orders"
                 *       ],
                 *       "mode": "missing_only"
                 *     }
                 */
                "application/json": components["schemas"]["RefreshCatalog"];
            };
        };
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "datasource": {
                     *         "id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *         "name": "shop",
                     *         "engine": "sqlite",
                     *         "created_at": "2026-01-15T09:30:00Z",
                     *         "modified_at": "2026-01-15T09:30:00Z"
                     *       },
                     *       "total_tables": 1,
                     *       "status": {
                     *         "overall_status": "COMPLETED",
                     *         "progress": 1,
                     *         "message": "",
                     *         "active_flow_runs": 0,
                     *         "request_id": "0198f3c2-7a50-7b3f-8c21-9e0d4f6a1b22"
                     *       },
                     *       "tables": [
                     *         {
                     *           "name": "orders",
                     *           "schema": "main",
                     *           "source_description": "Orders since 2020.",
                     *           "description_source": "source",
                     *           "type": "TABLE",
                     *           "row_count": 1250,
                     *           "row_count_known": true,
                     *           "status": "COMPLETED",
                     *           "error": null,
                     *           "error_request_id": null,
                     *           "missing": false,
                     *           "loaded_at": "2026-01-15T09:30:04Z",
                     *           "columns": [
                     *             {
                     *               "name": "total",
                     *               "data_type": "numeric(12,2)",
                     *               "source_description": "In euros.",
                     *               "description_source": "source",
                     *               "default_value": null,
                     *               "is_nullable": false,
                     *               "statistics": {
                     *                 "most_common_values": [
                     *                   "9.99",
                     *                   "24.50"
                     *                 ],
                     *                 "most_common_frequencies": [
                     *                   0.2,
                     *                   0.1
                     *                 ],
                     *                 "null_percentage": 0,
                     *                 "distinct_values_count": 731,
                     *                 "min_value": "1.50",
                     *                 "max_value": "980.00",
                     *                 "estimated": false,
                     *                 "sampled_rows": 1250,
                     *                 "truncated_values": false
                     *               }
                     *             }
                     *           ],
                     *           "primary_key_constraints": [
                     *             {
                     *               "column_name": "id",
                     *               "ordinal_position": 1,
                     *               "constraint_name": "orders_pkey"
                     *             }
                     *           ],
                     *           "foreign_key_constraints": [
                     *             {
                     *               "constraint_name": "orders_customer_fkey",
                     *               "ordinal_position": 1,
                     *               "column_name": "customer_id",
                     *               "referenced_schema": "main",
                     *               "referenced_table": "customers",
                     *               "referenced_column": "id"
                     *             }
                     *           ]
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["Catalog"];
                };
            };
        };
    };
    load_tables: {
        parameters: {
            query?: {
                wait?: number;
            };
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "table_names": [
                 *         "main.orders"
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["LoadTables"];
            };
        };
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "datasource": {
                     *         "id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *         "name": "shop",
                     *         "engine": "sqlite",
                     *         "created_at": "2026-01-15T09:30:00Z",
                     *         "modified_at": "2026-01-15T09:30:00Z"
                     *       },
                     *       "total_tables": 1,
                     *       "status": {
                     *         "overall_status": "COMPLETED",
                     *         "progress": 1,
                     *         "message": "",
                     *         "active_flow_runs": 0,
                     *         "request_id": "0198f3c2-7a50-7b3f-8c21-9e0d4f6a1b22"
                     *       },
                     *       "tables": [
                     *         {
                     *           "name": "orders",
                     *           "schema": "main",
                     *           "source_description": "Orders since 2020.",
                     *           "description_source": "source",
                     *           "type": "TABLE",
                     *           "row_count": 1250,
                     *           "row_count_known": true,
                     *           "status": "COMPLETED",
                     *           "error": null,
                     *           "error_request_id": null,
                     *           "missing": false,
                     *           "loaded_at": "2026-01-15T09:30:04Z",
                     *           "columns": [
                     *             {
                     *               "name": "total",
                     *               "data_type": "numeric(12,2)",
                     *               "source_description": "In euros.",
                     *               "description_source": "source",
                     *               "default_value": null,
                     *               "is_nullable": false,
                     *               "statistics": {
                     *                 "most_common_values": [
                     *                   "9.99",
                     *                   "24.50"
                     *                 ],
                     *                 "most_common_frequencies": [
                     *                   0.2,
                     *                   0.1
                     *                 ],
                     *                 "null_percentage": 0,
                     *                 "distinct_values_count": 731,
                     *                 "min_value": "1.50",
                     *                 "max_value": "980.00",
                     *                 "estimated": false,
                     *                 "sampled_rows": 1250,
                     *                 "truncated_values": false
                     *               }
                     *             }
                     *           ],
                     *           "primary_key_constraints": [
                     *             {
                     *               "column_name": "id",
                     *               "ordinal_position": 1,
                     *               "constraint_name": "orders_pkey"
                     *             }
                     *           ],
                     *           "foreign_key_constraints": [
                     *             {
                     *               "constraint_name": "orders_customer_fkey",
                     *               "ordinal_position": 1,
                     *               "column_name": "customer_id",
                     *               "referenced_schema": "main",
                     *               "referenced_table": "customers",
                     *               "referenced_column": "id"
                     *             }
                     *           ]
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["Catalog"];
                };
            };
        };
    };
    cancel_catalog: {
        parameters: {
            query?: {
                wait?: number;
            };
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "datasource": {
                     *         "id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *         "name": "shop",
                     *         "engine": "sqlite",
                     *         "created_at": "2026-01-15T09:30:00Z",
                     *         "modified_at": "2026-01-15T09:30:00Z"
                     *       },
                     *       "total_tables": 1,
                     *       "status": {
                     *         "overall_status": "COMPLETED",
                     *         "progress": 1,
                     *         "message": "",
                     *         "active_flow_runs": 0,
                     *         "request_id": "0198f3c2-7a50-7b3f-8c21-9e0d4f6a1b22"
                     *       },
                     *       "tables": [
                     *         {
                     *           "name": "orders",
                     *           "schema": "main",
                     *           "source_description": "Orders since 2020.",
                     *           "description_source": "source",
                     *           "type": "TABLE",
                     *           "row_count": 1250,
                     *           "row_count_known": true,
                     *           "status": "COMPLETED",
                     *           "error": null,
                     *           "error_request_id": null,
                     *           "missing": false,
                     *           "loaded_at": "2026-01-15T09:30:04Z",
                     *           "columns": [
                     *             {
                     *               "name": "total",
                     *               "data_type": "numeric(12,2)",
                     *               "source_description": "In euros.",
                     *               "description_source": "source",
                     *               "default_value": null,
                     *               "is_nullable": false,
                     *               "statistics": {
                     *                 "most_common_values": [
                     *                   "9.99",
                     *                   "24.50"
                     *                 ],
                     *                 "most_common_frequencies": [
                     *                   0.2,
                     *                   0.1
                     *                 ],
                     *                 "null_percentage": 0,
                     *                 "distinct_values_count": 731,
                     *                 "min_value": "1.50",
                     *                 "max_value": "980.00",
                     *                 "estimated": false,
                     *                 "sampled_rows": 1250,
                     *                 "truncated_values": false
                     *               }
                     *             }
                     *           ],
                     *           "primary_key_constraints": [
                     *             {
                     *               "column_name": "id",
                     *               "ordinal_position": 1,
                     *               "constraint_name": "orders_pkey"
                     *             }
                     *           ],
                     *           "foreign_key_constraints": [
                     *             {
                     *               "constraint_name": "orders_customer_fkey",
                     *               "ordinal_position": 1,
                     *               "column_name": "customer_id",
                     *               "referenced_schema": "main",
                     *               "referenced_table": "customers",
                     *               "referenced_column": "id"
                     *             }
                     *           ]
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["Catalog"];
                };
            };
        };
    };
    delete_table: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
                table_name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    describe_table: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
                table_name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /** @example {} */
                "application/json": components["schemas"]["Describe"];
            };
        };
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "name": "orders",
                     *       "schema": "main",
                     *       "source_description": "Orders since 2020.",
                     *       "description_source": "source",
                     *       "type": "TABLE",
                     *       "row_count": 1250,
                     *       "row_count_known": true,
                     *       "status": "COMPLETED",
                     *       "error": null,
                     *       "error_request_id": null,
                     *       "missing": false,
                     *       "loaded_at": "2026-01-15T09:30:04Z",
                     *       "columns": [
                     *         {
                     *           "name": "total",
                     *           "data_type": "numeric(12,2)",
                     *           "source_description": "In euros.",
                     *           "description_source": "source",
                     *           "default_value": null,
                     *           "is_nullable": false,
                     *           "statistics": {
                     *             "most_common_values": [
                     *               "9.99",
                     *               "24.50"
                     *             ],
                     *             "most_common_frequencies": [
                     *               0.2,
                     *               0.1
                     *             ],
                     *             "null_percentage": 0,
                     *             "distinct_values_count": 731,
                     *             "min_value": "1.50",
                     *             "max_value": "980.00",
                     *             "estimated": false,
                     *             "sampled_rows": 1250,
                     *             "truncated_values": false
                     *           }
                     *         }
                     *       ],
                     *       "primary_key_constraints": [
                     *         {
                     *           "column_name": "id",
                     *           "ordinal_position": 1,
                     *           "constraint_name": "orders_pkey"
                     *         }
                     *       ],
                     *       "foreign_key_constraints": [
                     *         {
                     *           "constraint_name": "orders_customer_fkey",
                     *           "ordinal_position": 1,
                     *           "column_name": "customer_id",
                     *           "referenced_schema": "main",
                     *           "referenced_table": "customers",
                     *           "referenced_column": "id"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["Table"];
                };
            };
        };
    };
    describe_column: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
                table_name: string;
                column_name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /** @example {} */
                "application/json": components["schemas"]["Describe"];
            };
        };
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "name": "total",
                     *       "data_type": "numeric(12,2)",
                     *       "source_description": "In euros.",
                     *       "description_source": "source",
                     *       "default_value": null,
                     *       "is_nullable": false,
                     *       "statistics": {
                     *         "most_common_values": [
                     *           "9.99",
                     *           "24.50"
                     *         ],
                     *         "most_common_frequencies": [
                     *           0.2,
                     *           0.1
                     *         ],
                     *         "null_percentage": 0,
                     *         "distinct_values_count": 731,
                     *         "min_value": "1.50",
                     *         "max_value": "980.00",
                     *         "estimated": false,
                     *         "sampled_rows": 1250,
                     *         "truncated_values": false
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["Column"];
                };
            };
        };
    };
    list_providers: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Provider"][];
                };
            };
        };
    };
    create_provider: {
        parameters: {
            query?: {
                check_connection?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "vendor",
                 *       "plugin": "model-openai",
                 *       "connection_data": {
                 *         "base_url": "https://api.example.com/v1",
                 *         "api_key": "sk-example",
                 *         "model": "small-model"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["NewProvider"];
            };
        };
        responses: {
            201: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *       "name": "vendor",
                     *       "plugin": "model-openai",
                     *       "default": false,
                     *       "created_at": "2026-01-15T09:30:00Z",
                     *       "modified_at": "2026-01-15T09:30:00Z",
                     *       "connection_data": {
                     *         "base_url": "https://api.example.com/v1",
                     *         "api_key": "********"
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["Provider"];
                };
            };
        };
    };
    get_provider: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *       "name": "vendor",
                     *       "plugin": "model-openai",
                     *       "default": false,
                     *       "created_at": "2026-01-15T09:30:00Z",
                     *       "modified_at": "2026-01-15T09:30:00Z",
                     *       "connection_data": {
                     *         "base_url": "https://api.example.com/v1",
                     *         "api_key": "********"
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["Provider"];
                };
            };
        };
    };
    update_provider: {
        parameters: {
            query?: {
                check_connection?: boolean;
            };
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /** @example {} */
                "application/json": components["schemas"]["ChangeProvider"];
            };
        };
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *       "name": "vendor",
                     *       "plugin": "model-openai",
                     *       "default": false,
                     *       "created_at": "2026-01-15T09:30:00Z",
                     *       "modified_at": "2026-01-15T09:30:00Z",
                     *       "connection_data": {
                     *         "base_url": "https://api.example.com/v1",
                     *         "api_key": "********"
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["Provider"];
                };
            };
        };
    };
    delete_provider: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    patch_provider: {
        parameters: {
            query?: {
                check_connection?: boolean;
            };
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /** @example {} */
                "application/json": components["schemas"]["ChangeProvider"];
            };
        };
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *       "name": "vendor",
                     *       "plugin": "model-openai",
                     *       "default": false,
                     *       "created_at": "2026-01-15T09:30:00Z",
                     *       "modified_at": "2026-01-15T09:30:00Z",
                     *       "connection_data": {
                     *         "base_url": "https://api.example.com/v1",
                     *         "api_key": "********"
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["Provider"];
                };
            };
        };
    };
    list_minds: {
        parameters: {
            query?: {
                is_demo?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Mind"][];
                };
            };
        };
    };
    create_mind: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "sales",
                 *       "datasources": [
                 *         "shop"
                 *       ],
                 *       "parameters": {
                 *         "system_prompt": "Amounts are in euros.",
                 *         "allow_direct_queries": true
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["NewMind"];
            };
        };
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "name": "sales",
                     *       "datasources": [
                     *         "shop"
                     *       ],
                     *       "datasource_tables": [
                     *         {
                     *           "name": "shop",
                     *           "tables": [
                     *             "main.orders"
                     *           ]
                     *         }
                     *       ],
                     *       "provider": "vendor",
                     *       "model_name": "small-model",
                     *       "parameters": {
                     *         "system_prompt": "Amounts are in euros.",
                     *         "allow_direct_queries": true
                     *       },
                     *       "created_at": "Sun, 06 Nov 1994 08:49:37 GMT",
                     *       "updated_at": "Sun, 06 Nov 1994 08:49:37 GMT",
                     *       "modified_at": "Sun, 06 Nov 1994 08:49:37 GMT",
                     *       "status": {
                     *         "overall_status": "COMPLETED",
                     *         "progress": 1,
                     *         "message": "",
                     *         "active_flow_runs": 0,
                     *         "request_id": "0198f3c2-7a50-7b3f-8c21-9e0d4f6a1b22"
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["Mind"];
                };
            };
        };
    };
    get_mind: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "name": "sales",
                     *       "datasources": [
                     *         "shop"
                     *       ],
                     *       "datasource_tables": [
                     *         {
                     *           "name": "shop",
                     *           "tables": [
                     *             "main.orders"
                     *           ]
                     *         }
                     *       ],
                     *       "provider": "vendor",
                     *       "model_name": "small-model",
                     *       "parameters": {
                     *         "system_prompt": "Amounts are in euros.",
                     *         "allow_direct_queries": true
                     *       },
                     *       "created_at": "Sun, 06 Nov 1994 08:49:37 GMT",
                     *       "updated_at": "Sun, 06 Nov 1994 08:49:37 GMT",
                     *       "modified_at": "Sun, 06 Nov 1994 08:49:37 GMT",
                     *       "status": {
                     *         "overall_status": "COMPLETED",
                     *         "progress": 1,
                     *         "message": "",
                     *         "active_flow_runs": 0,
                     *         "request_id": "0198f3c2-7a50-7b3f-8c21-9e0d4f6a1b22"
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["Mind"];
                };
            };
        };
    };
    update_mind: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "parameters": {
                 *         "system_prompt": "Amounts are in euros.",
                 *         "allow_direct_queries": true
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ChangeMind"];
            };
        };
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "name": "sales",
                     *       "datasources": [
                     *         "shop"
                     *       ],
                     *       "datasource_tables": [
                     *         {
                     *           "name": "shop",
                     *           "tables": [
                     *             "main.orders"
                     *           ]
                     *         }
                     *       ],
                     *       "provider": "vendor",
                     *       "model_name": "small-model",
                     *       "parameters": {
                     *         "system_prompt": "Amounts are in euros.",
                     *         "allow_direct_queries": true
                     *       },
                     *       "created_at": "Sun, 06 Nov 1994 08:49:37 GMT",
                     *       "updated_at": "Sun, 06 Nov 1994 08:49:37 GMT",
                     *       "modified_at": "Sun, 06 Nov 1994 08:49:37 GMT",
                     *       "status": {
                     *         "overall_status": "COMPLETED",
                     *         "progress": 1,
                     *         "message": "",
                     *         "active_flow_runs": 0,
                     *         "request_id": "0198f3c2-7a50-7b3f-8c21-9e0d4f6a1b22"
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["Mind"];
                };
            };
        };
    };
    delete_mind: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "name": "sales",
                     *       "deleted": true
                     *     }
                     */
                    "application/json": components["schemas"]["DeletedMind"];
                };
            };
        };
    };
    get_policies: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "policies": [
                     *         {
                     *           "datasource": "text",
                     *           "table": "text",
                     *           "filter": null,
                     *           "hidden": [
                     *             "text"
                     *           ],
                     *           "masked": {},
                     *           "problem": null
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["Policies"];
                };
            };
        };
    };
    set_policies: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "policies": [
                 *         {
                 *           "datasource": "shop",
                 *           "table": "public.orders",
                 *           "filter": "tenant_id = {{caller.tenant}}"
                 *         }
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["SetPolicies"];
            };
        };
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "policies": [
                     *         {
                     *           "datasource": "text",
                     *           "table": "text",
                     *           "filter": null,
                     *           "hidden": [
                     *             "text"
                     *           ],
                     *           "masked": {},
                     *           "problem": null
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["Policies"];
                };
            };
        };
    };
    preview_policies: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "datasource": "shop",
                 *       "table": "public.orders"
                 *     }
                 */
                "application/json": components["schemas"]["PreviewPolicies"];
            };
        };
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "object": "policy.preview",
                     *       "column_names": [
                     *         "id",
                     *         "tenant"
                     *       ],
                     *       "column_types": [
                     *         {
                     *           "name": "name",
                     *           "type": "text",
                     *           "native_type": "text"
                     *         },
                     *         {
                     *           "name": "orders",
                     *           "type": "int64",
                     *           "native_type": "bigint"
                     *         }
                     *       ],
                     *       "data": [
                     *         [
                     *           1,
                     *           "acme"
                     *         ]
                     *       ],
                     *       "total": 1
                     *     }
                     */
                    "application/json": components["schemas"]["PolicyPreview"];
                };
            };
        };
    };
    list_knowledge: {
        parameters: {
            query?: {
                kind?: "instruction" | "term" | "metric" | "relationship" | "verified_query";
                after?: string;
                limit?: number;
            };
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "object": "list",
                     *       "data": [
                     *         {
                     *           "name": "fiscal year",
                     *           "text": "The fiscal year begins in April.",
                     *           "kind": "instruction",
                     *           "id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *           "status": "valid",
                     *           "stale_reason": null,
                     *           "created_at": "2026-01-15T09:30:00Z",
                     *           "updated_at": "2026-01-15T09:30:00Z",
                     *           "checked_at": "2026-01-15T09:30:00Z"
                     *         }
                     *       ],
                     *       "first_id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *       "last_id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *       "has_more": false
                     *     }
                     */
                    "application/json": components["schemas"]["Page_KnowledgeEntry"];
                };
            };
        };
    };
    create_knowledge: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "fiscal year",
                 *       "text": "The fiscal year begins in April.",
                 *       "kind": "instruction"
                 *     }
                 */
                "application/json": components["schemas"]["Knowledge"];
            };
        };
        responses: {
            201: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "name": "fiscal year",
                     *       "text": "The fiscal year begins in April.",
                     *       "kind": "instruction",
                     *       "id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *       "status": "valid",
                     *       "stale_reason": null,
                     *       "created_at": "2026-01-15T09:30:00Z",
                     *       "updated_at": "2026-01-15T09:30:00Z",
                     *       "checked_at": "2026-01-15T09:30:00Z"
                     *     }
                     */
                    "application/json": components["schemas"]["KnowledgeEntry"];
                };
            };
        };
    };
    export_knowledge: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/yaml": unknown;
                };
            };
        };
    };
    import_knowledge: {
        parameters: {
            query?: {
                mode?: "merge" | "replace";
            };
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/yaml": unknown;
            };
        };
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "created": 1,
                     *       "updated": 0,
                     *       "unchanged": 0,
                     *       "deleted": 0
                     *     }
                     */
                    "application/json": components["schemas"]["KnowledgeImport"];
                };
            };
        };
    };
    get_knowledge: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "name": "fiscal year",
                     *       "text": "The fiscal year begins in April.",
                     *       "kind": "instruction",
                     *       "id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *       "status": "valid",
                     *       "stale_reason": null,
                     *       "created_at": "2026-01-15T09:30:00Z",
                     *       "updated_at": "2026-01-15T09:30:00Z",
                     *       "checked_at": "2026-01-15T09:30:00Z"
                     *     }
                     */
                    "application/json": components["schemas"]["KnowledgeEntry"];
                };
            };
        };
    };
    update_knowledge: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "fiscal year",
                 *       "text": "The fiscal year begins in April.",
                 *       "kind": "instruction"
                 *     }
                 */
                "application/json": components["schemas"]["Knowledge"];
            };
        };
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "name": "fiscal year",
                     *       "text": "The fiscal year begins in April.",
                     *       "kind": "instruction",
                     *       "id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *       "status": "valid",
                     *       "stale_reason": null,
                     *       "created_at": "2026-01-15T09:30:00Z",
                     *       "updated_at": "2026-01-15T09:30:00Z",
                     *       "checked_at": "2026-01-15T09:30:00Z"
                     *     }
                     */
                    "application/json": components["schemas"]["KnowledgeEntry"];
                };
            };
        };
    };
    delete_knowledge: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    list_feedback: {
        parameters: {
            query?: {
                after?: string;
                limit?: number;
            };
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "object": "list",
                     *       "data": [
                     *         {
                     *           "id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *           "response_id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *           "key_id": "0198f3c2-10b4-7c11-8f02-6d9e3a7b1c55",
                     *           "rating": "up",
                     *           "comment": "Without cancelled ones.",
                     *           "corrected_sql": null,
                     *           "question": "How many orders were there?",
                     *           "sql": "SELECT count(*) FROM orders",
                     *           "knowledge_id": null,
                     *           "created_at": "2026-01-15T09:30:00Z",
                     *           "updated_at": "2026-01-15T09:30:00Z"
                     *         }
                     *       ],
                     *       "first_id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *       "last_id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *       "has_more": false
                     *     }
                     */
                    "application/json": components["schemas"]["Page_Feedback"];
                };
            };
        };
    };
    promote_feedback: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "question": "How many orders were there?"
                 *     }
                 */
                "application/json": components["schemas"]["PromoteFeedback"];
            };
        };
        responses: {
            201: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "name": "fiscal year",
                     *       "text": "The fiscal year begins in April.",
                     *       "kind": "instruction",
                     *       "id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *       "status": "valid",
                     *       "stale_reason": null,
                     *       "created_at": "2026-01-15T09:30:00Z",
                     *       "updated_at": "2026-01-15T09:30:00Z",
                     *       "checked_at": "2026-01-15T09:30:00Z"
                     *     }
                     */
                    "application/json": components["schemas"]["KnowledgeEntry"];
                };
            };
        };
    };
    list_evaluations: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "object": "list",
                     *       "data": [
                     *         {
                     *           "id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *           "suite": "text",
                     *           "status": "completed",
                     *           "error": null,
                     *           "request_id": "0198f3c2-7a50-7b3f-8c21-9e0d4f6a1b22",
                     *           "questions_count": 0,
                     *           "judged_count": 0,
                     *           "figures": {
                     *             "answerable": 0,
                     *             "right": 0,
                     *             "wrong": 0,
                     *             "declined": 0,
                     *             "failed": 0,
                     *             "unanswerable": 0,
                     *             "rightly_declined": 0,
                     *             "invalid": 0,
                     *             "recall_known": 0,
                     *             "repairs": 0,
                     *             "input_tokens": 812,
                     *             "output_tokens": 64
                     *           },
                     *           "currency": "text",
                     *           "key_id": "0198f3c2-10b4-7c11-8f02-6d9e3a7b1c55",
                     *           "started_at": "2026-01-15T09:30:00Z",
                     *           "ended_at": "2026-01-15T09:31:10Z"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["EvaluationList"];
                };
            };
        };
    };
    start_evaluation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "suite": "name: shop\nquestions:\n  - question: How many customers are there?\n    sql: SELECT count(*) FROM customers\n",
                 *       "jobs": 2
                 *     }
                 */
                "application/json": components["schemas"]["NewEvaluation"];
            };
        };
        responses: {
            202: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *       "suite": "text",
                     *       "status": "completed",
                     *       "error": null,
                     *       "request_id": "0198f3c2-7a50-7b3f-8c21-9e0d4f6a1b22",
                     *       "questions_count": 0,
                     *       "judged_count": 0,
                     *       "figures": {
                     *         "answerable": 0,
                     *         "right": 0,
                     *         "wrong": 0,
                     *         "declined": 0,
                     *         "failed": 0,
                     *         "unanswerable": 0,
                     *         "rightly_declined": 0,
                     *         "invalid": 0,
                     *         "recall_known": 0,
                     *         "repairs": 0,
                     *         "input_tokens": 812,
                     *         "output_tokens": 64
                     *       },
                     *       "currency": "text",
                     *       "key_id": "0198f3c2-10b4-7c11-8f02-6d9e3a7b1c55",
                     *       "started_at": "2026-01-15T09:30:00Z",
                     *       "ended_at": "2026-01-15T09:31:10Z"
                     *     }
                     */
                    "application/json": components["schemas"]["Evaluation"];
                };
            };
        };
    };
    get_evaluation: {
        parameters: {
            query?: {
                baseline?: string;
            };
            header?: never;
            path: {
                name: string;
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *       "suite": "text",
                     *       "status": "completed",
                     *       "error": null,
                     *       "request_id": "0198f3c2-7a50-7b3f-8c21-9e0d4f6a1b22",
                     *       "questions_count": 0,
                     *       "judged_count": 0,
                     *       "figures": {
                     *         "answerable": 0,
                     *         "right": 0,
                     *         "wrong": 0,
                     *         "declined": 0,
                     *         "failed": 0,
                     *         "unanswerable": 0,
                     *         "rightly_declined": 0,
                     *         "invalid": 0,
                     *         "recall_known": 0,
                     *         "repairs": 0,
                     *         "input_tokens": 812,
                     *         "output_tokens": 64
                     *       },
                     *       "currency": "text",
                     *       "key_id": "0198f3c2-10b4-7c11-8f02-6d9e3a7b1c55",
                     *       "started_at": "2026-01-15T09:30:00Z",
                     *       "ended_at": "2026-01-15T09:31:10Z",
                     *       "questions": [
                     *         {
                     *           "id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *           "question": "How many orders were there?",
                     *           "expect": "answer",
                     *           "mark": "right",
                     *           "sql": "SELECT count(*) FROM orders",
                     *           "text": "There were 1250 orders.",
                     *           "input_tokens": 812,
                     *           "output_tokens": 64
                     *         }
                     *       ],
                     *       "difference": null
                     *     }
                     */
                    "application/json": components["schemas"]["EvaluationReport"];
                };
            };
        };
    };
    delete_evaluation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    cancel_evaluation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *       "suite": "text",
                     *       "status": "completed",
                     *       "error": null,
                     *       "request_id": "0198f3c2-7a50-7b3f-8c21-9e0d4f6a1b22",
                     *       "questions_count": 0,
                     *       "judged_count": 0,
                     *       "figures": {
                     *         "answerable": 0,
                     *         "right": 0,
                     *         "wrong": 0,
                     *         "declined": 0,
                     *         "failed": 0,
                     *         "unanswerable": 0,
                     *         "rightly_declined": 0,
                     *         "invalid": 0,
                     *         "recall_known": 0,
                     *         "repairs": 0,
                     *         "input_tokens": 812,
                     *         "output_tokens": 64
                     *       },
                     *       "currency": "text",
                     *       "key_id": "0198f3c2-10b4-7c11-8f02-6d9e3a7b1c55",
                     *       "started_at": "2026-01-15T09:30:00Z",
                     *       "ended_at": "2026-01-15T09:31:10Z"
                     *     }
                     */
                    "application/json": components["schemas"]["Evaluation"];
                };
            };
        };
    };
    list_models: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "object": "list",
                     *       "data": [
                     *         {
                     *           "id": "sales",
                     *           "object": "model",
                     *           "created": 1768469400,
                     *           "owned_by": "mindhost"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["Models"];
                };
            };
        };
    };
    get_model: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "sales",
                     *       "object": "model",
                     *       "created": 1768469400,
                     *       "owned_by": "mindhost"
                     *     }
                     */
                    "application/json": components["schemas"]["Model"];
                };
            };
        };
    };
    create_chat: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "model": "sales",
                 *       "messages": [
                 *         {
                 *           "role": "user",
                 *           "content": "How many orders were there?"
                 *         }
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["NewChat"];
            };
        };
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *       "object": "chat.completion",
                     *       "created": 1768469400,
                     *       "model": "sales",
                     *       "choices": [
                     *         {
                     *           "index": 0,
                     *           "message": {
                     *             "role": "assistant",
                     *             "content": "There were 1250 orders.",
                     *             "refusal": null,
                     *             "annotations": []
                     *           },
                     *           "logprobs": null,
                     *           "finish_reason": "stop"
                     *         }
                     *       ],
                     *       "usage": {
                     *         "prompt_tokens": 812,
                     *         "completion_tokens": 64,
                     *         "total_tokens": 876
                     *       },
                     *       "service_tier": null,
                     *       "system_fingerprint": null
                     *     }
                     */
                    "application/json": components["schemas"]["ChatCompletion"];
                    /**
                     * @example {
                     *       "data": "{\"object\": \"chat.completion.chunk\", \"choices\": [{\"index\": 0, \"delta\": {\"content\": \"Three\"}}]}"
                     *     }
                     */
                    "text/event-stream": components["schemas"]["SentEvent"];
                };
            };
        };
    };
    create_response: {
        parameters: {
            query?: never;
            header?: {
                "x-mindhost-events"?: string | null;
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "model": "sales",
                 *       "input": "How many orders were there?"
                 *     }
                 */
                "application/json": components["schemas"]["NewResponse"];
            };
        };
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *       "object": "response",
                     *       "created_at": 1768469400,
                     *       "completed_at": 1768469402,
                     *       "status": "completed",
                     *       "error": null,
                     *       "incomplete_details": null,
                     *       "ending": "cannot_answer",
                     *       "model": "sales",
                     *       "output": [
                     *         {
                     *           "type": "message",
                     *           "id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *           "status": "completed",
                     *           "role": "assistant",
                     *           "content": [
                     *             {
                     *               "type": "output_text",
                     *               "text": "There were 1250 orders.",
                     *               "annotations": [],
                     *               "logprobs": []
                     *             }
                     *           ],
                     *           "sql": "SELECT count(*) FROM orders",
                     *           "tables": [
                     *             "shop.public.orders"
                     *           ],
                     *           "row_count": 1250,
                     *           "truncated": true,
                     *           "assumptions": [
                     *             "Cancelled orders are left out."
                     *           ],
                     *           "follow_up_questions": [
                     *             "How many orders are there for each status?"
                     *           ],
                     *           "unverified_numbers": [
                     *             "6"
                     *           ],
                     *           "ending": "cannot_answer"
                     *         }
                     *       ],
                     *       "conversation": {
                     *         "id": "0198f3c2-6f00-7a10-8d44-1c2b3a495867"
                     *       },
                     *       "previous_response_id": null,
                     *       "instructions": null,
                     *       "metadata": {
                     *         "project": "report"
                     *       },
                     *       "usage": {
                     *         "input_tokens": 812,
                     *         "input_tokens_details": {
                     *           "cached_tokens": 0,
                     *           "cache_write_tokens": 0
                     *         },
                     *         "output_tokens": 64,
                     *         "output_tokens_details": {
                     *           "reasoning_tokens": 0
                     *         },
                     *         "total_tokens": 876
                     *       },
                     *       "background": false,
                     *       "store": true,
                     *       "max_output_tokens": null,
                     *       "temperature": 1,
                     *       "top_p": 1,
                     *       "presence_penalty": 0,
                     *       "frequency_penalty": 0,
                     *       "top_logprobs": 0,
                     *       "max_tool_calls": null,
                     *       "service_tier": "auto",
                     *       "safety_identifier": null,
                     *       "prompt_cache_key": null,
                     *       "parallel_tool_calls": false,
                     *       "tool_choice": "auto",
                     *       "tools": [],
                     *       "text": {
                     *         "format": {
                     *           "type": "text"
                     *         }
                     *       },
                     *       "truncation": "disabled",
                     *       "reasoning": {
                     *         "effort": null,
                     *         "summary": null
                     *       },
                     *       "user": null
                     *     }
                     */
                    "application/json": components["schemas"]["Response"];
                    /**
                     * @example {
                     *       "event": "response.output_text.delta",
                     *       "data": "{\"type\": \"response.output_text.delta\", \"sequence_number\": 5, \"delta\": \"Three\"}"
                     *     }
                     */
                    "text/event-stream": components["schemas"]["SentEvent"];
                };
            };
        };
    };
    get_response: {
        parameters: {
            query?: {
                stream?: boolean;
                starting_after?: number;
            };
            header?: {
                "x-mindhost-events"?: string | null;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *       "object": "response",
                     *       "created_at": 1768469400,
                     *       "completed_at": 1768469402,
                     *       "status": "completed",
                     *       "error": null,
                     *       "incomplete_details": null,
                     *       "ending": "cannot_answer",
                     *       "model": "sales",
                     *       "output": [
                     *         {
                     *           "type": "message",
                     *           "id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *           "status": "completed",
                     *           "role": "assistant",
                     *           "content": [
                     *             {
                     *               "type": "output_text",
                     *               "text": "There were 1250 orders.",
                     *               "annotations": [],
                     *               "logprobs": []
                     *             }
                     *           ],
                     *           "sql": "SELECT count(*) FROM orders",
                     *           "tables": [
                     *             "shop.public.orders"
                     *           ],
                     *           "row_count": 1250,
                     *           "truncated": true,
                     *           "assumptions": [
                     *             "Cancelled orders are left out."
                     *           ],
                     *           "follow_up_questions": [
                     *             "How many orders are there for each status?"
                     *           ],
                     *           "unverified_numbers": [
                     *             "6"
                     *           ],
                     *           "ending": "cannot_answer"
                     *         }
                     *       ],
                     *       "conversation": {
                     *         "id": "0198f3c2-6f00-7a10-8d44-1c2b3a495867"
                     *       },
                     *       "previous_response_id": null,
                     *       "instructions": null,
                     *       "metadata": {
                     *         "project": "report"
                     *       },
                     *       "usage": {
                     *         "input_tokens": 812,
                     *         "input_tokens_details": {
                     *           "cached_tokens": 0,
                     *           "cache_write_tokens": 0
                     *         },
                     *         "output_tokens": 64,
                     *         "output_tokens_details": {
                     *           "reasoning_tokens": 0
                     *         },
                     *         "total_tokens": 876
                     *       },
                     *       "background": false,
                     *       "store": true,
                     *       "max_output_tokens": null,
                     *       "temperature": 1,
                     *       "top_p": 1,
                     *       "presence_penalty": 0,
                     *       "frequency_penalty": 0,
                     *       "top_logprobs": 0,
                     *       "max_tool_calls": null,
                     *       "service_tier": "auto",
                     *       "safety_identifier": null,
                     *       "prompt_cache_key": null,
                     *       "parallel_tool_calls": false,
                     *       "tool_choice": "auto",
                     *       "tools": [],
                     *       "text": {
                     *         "format": {
                     *           "type": "text"
                     *         }
                     *       },
                     *       "truncation": "disabled",
                     *       "reasoning": {
                     *         "effort": null,
                     *         "summary": null
                     *       },
                     *       "user": null
                     *     }
                     */
                    "application/json": components["schemas"]["Response"];
                    /**
                     * @example {
                     *       "event": "response.output_text.delta",
                     *       "data": "{\"type\": \"response.output_text.delta\", \"sequence_number\": 5, \"delta\": \"Three\"}"
                     *     }
                     */
                    "text/event-stream": components["schemas"]["SentEvent"];
                };
            };
        };
    };
    delete_response: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *       "object": "response",
                     *       "deleted": true
                     *     }
                     */
                    "application/json": components["schemas"]["DeletedConversation"];
                };
            };
        };
    };
    cancel_response: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *       "object": "response",
                     *       "created_at": 1768469400,
                     *       "completed_at": 1768469402,
                     *       "status": "completed",
                     *       "error": null,
                     *       "incomplete_details": null,
                     *       "ending": "cannot_answer",
                     *       "model": "sales",
                     *       "output": [
                     *         {
                     *           "type": "message",
                     *           "id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *           "status": "completed",
                     *           "role": "assistant",
                     *           "content": [
                     *             {
                     *               "type": "output_text",
                     *               "text": "There were 1250 orders.",
                     *               "annotations": [],
                     *               "logprobs": []
                     *             }
                     *           ],
                     *           "sql": "SELECT count(*) FROM orders",
                     *           "tables": [
                     *             "shop.public.orders"
                     *           ],
                     *           "row_count": 1250,
                     *           "truncated": true,
                     *           "assumptions": [
                     *             "Cancelled orders are left out."
                     *           ],
                     *           "follow_up_questions": [
                     *             "How many orders are there for each status?"
                     *           ],
                     *           "unverified_numbers": [
                     *             "6"
                     *           ],
                     *           "ending": "cannot_answer"
                     *         }
                     *       ],
                     *       "conversation": {
                     *         "id": "0198f3c2-6f00-7a10-8d44-1c2b3a495867"
                     *       },
                     *       "previous_response_id": null,
                     *       "instructions": null,
                     *       "metadata": {
                     *         "project": "report"
                     *       },
                     *       "usage": {
                     *         "input_tokens": 812,
                     *         "input_tokens_details": {
                     *           "cached_tokens": 0,
                     *           "cache_write_tokens": 0
                     *         },
                     *         "output_tokens": 64,
                     *         "output_tokens_details": {
                     *           "reasoning_tokens": 0
                     *         },
                     *         "total_tokens": 876
                     *       },
                     *       "background": false,
                     *       "store": true,
                     *       "max_output_tokens": null,
                     *       "temperature": 1,
                     *       "top_p": 1,
                     *       "presence_penalty": 0,
                     *       "frequency_penalty": 0,
                     *       "top_logprobs": 0,
                     *       "max_tool_calls": null,
                     *       "service_tier": "auto",
                     *       "safety_identifier": null,
                     *       "prompt_cache_key": null,
                     *       "parallel_tool_calls": false,
                     *       "tool_choice": "auto",
                     *       "tools": [],
                     *       "text": {
                     *         "format": {
                     *           "type": "text"
                     *         }
                     *       },
                     *       "truncation": "disabled",
                     *       "reasoning": {
                     *         "effort": null,
                     *         "summary": null
                     *       },
                     *       "user": null
                     *     }
                     */
                    "application/json": components["schemas"]["Response"];
                };
            };
        };
    };
    give_feedback: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "rating": "down",
                 *       "comment": "Without cancelled ones."
                 *     }
                 */
                "application/json": components["schemas"]["NewFeedback"];
            };
        };
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *       "response_id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *       "key_id": "0198f3c2-10b4-7c11-8f02-6d9e3a7b1c55",
                     *       "rating": "up",
                     *       "comment": "Without cancelled ones.",
                     *       "corrected_sql": null,
                     *       "question": "How many orders were there?",
                     *       "sql": "SELECT count(*) FROM orders",
                     *       "knowledge_id": null,
                     *       "created_at": "2026-01-15T09:30:00Z",
                     *       "updated_at": "2026-01-15T09:30:00Z"
                     *     }
                     */
                    "application/json": components["schemas"]["Feedback"];
                };
            };
        };
    };
    list_conversations: {
        parameters: {
            query?: {
                after?: string;
                limit?: number;
                order?: "asc" | "desc";
                search?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "object": "list",
                     *       "data": [
                     *         {
                     *           "id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *           "object": "conversation",
                     *           "created_at": 1768469400,
                     *           "metadata": {
                     *             "project": "report"
                     *           },
                     *           "model": "sales",
                     *           "key_id": "0198f3c2-10b4-7c11-8f02-6d9e3a7b1c55"
                     *         }
                     *       ],
                     *       "first_id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *       "last_id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *       "has_more": false
                     *     }
                     */
                    "application/json": components["schemas"]["Page_Conversation"];
                };
            };
        };
    };
    create_conversation: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "metadata": {
                 *         "project": "report"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["NewConversation"];
            };
        };
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *       "object": "conversation",
                     *       "created_at": 1768469400,
                     *       "metadata": {
                     *         "project": "report"
                     *       },
                     *       "model": "sales",
                     *       "key_id": "0198f3c2-10b4-7c11-8f02-6d9e3a7b1c55"
                     *     }
                     */
                    "application/json": components["schemas"]["Conversation"];
                };
            };
        };
    };
    get_conversation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *       "object": "conversation",
                     *       "created_at": 1768469400,
                     *       "metadata": {
                     *         "project": "report"
                     *       },
                     *       "model": "sales",
                     *       "key_id": "0198f3c2-10b4-7c11-8f02-6d9e3a7b1c55"
                     *     }
                     */
                    "application/json": components["schemas"]["Conversation"];
                };
            };
        };
    };
    update_conversation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "metadata": {
                 *         "project": "report"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ChangeConversation"];
            };
        };
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *       "object": "conversation",
                     *       "created_at": 1768469400,
                     *       "metadata": {
                     *         "project": "report"
                     *       },
                     *       "model": "sales",
                     *       "key_id": "0198f3c2-10b4-7c11-8f02-6d9e3a7b1c55"
                     *     }
                     */
                    "application/json": components["schemas"]["Conversation"];
                };
            };
        };
    };
    delete_conversation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *       "object": "conversation.deleted",
                     *       "deleted": true
                     *     }
                     */
                    "application/json": components["schemas"]["DeletedConversation"];
                };
            };
        };
    };
    list_items: {
        parameters: {
            query?: {
                after?: string;
                limit?: number;
                order?: "asc" | "desc";
                include?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "object": "list",
                     *       "data": [
                     *         {
                     *           "type": "message",
                     *           "id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *           "status": "completed",
                     *           "role": "user",
                     *           "content": [
                     *             {
                     *               "text": "There were 1250 orders.",
                     *               "annotations": [],
                     *               "logprobs": [],
                     *               "type": "output_text"
                     *             }
                     *           ],
                     *           "created_at": 1768469400,
                     *           "sql": "SELECT count(*) FROM orders",
                     *           "response_id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70"
                     *         }
                     *       ],
                     *       "first_id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *       "last_id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *       "has_more": false
                     *     }
                     */
                    "application/json": components["schemas"]["Page_Item"];
                };
            };
        };
    };
    add_items: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "items": [
                 *         {
                 *           "type": "message",
                 *           "role": "user",
                 *           "content": "How many orders were there?"
                 *         }
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["AddItems"];
            };
        };
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "object": "list",
                     *       "data": [
                     *         {
                     *           "type": "message",
                     *           "id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *           "status": "completed",
                     *           "role": "user",
                     *           "content": [
                     *             {
                     *               "text": "There were 1250 orders.",
                     *               "annotations": [],
                     *               "logprobs": [],
                     *               "type": "output_text"
                     *             }
                     *           ],
                     *           "created_at": 1768469400,
                     *           "sql": "SELECT count(*) FROM orders",
                     *           "response_id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70"
                     *         }
                     *       ],
                     *       "first_id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *       "last_id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *       "has_more": false
                     *     }
                     */
                    "application/json": components["schemas"]["Page_Item"];
                };
            };
        };
    };
    get_item: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
                item_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "type": "message",
                     *       "id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *       "status": "completed",
                     *       "role": "user",
                     *       "content": [
                     *         {
                     *           "text": "There were 1250 orders.",
                     *           "annotations": [],
                     *           "logprobs": [],
                     *           "type": "output_text"
                     *         }
                     *       ],
                     *       "created_at": 1768469400,
                     *       "sql": "SELECT count(*) FROM orders",
                     *       "response_id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70"
                     *     }
                     */
                    "application/json": components["schemas"]["Item"];
                };
            };
        };
    };
    delete_item: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
                item_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *       "object": "conversation",
                     *       "created_at": 1768469400,
                     *       "metadata": {
                     *         "project": "report"
                     *       },
                     *       "model": "sales",
                     *       "key_id": "0198f3c2-10b4-7c11-8f02-6d9e3a7b1c55"
                     *     }
                     */
                    "application/json": components["schemas"]["Conversation"];
                };
            };
        };
    };
    get_result: {
        parameters: {
            query?: {
                limit?: number;
                offset?: number;
                include?: string;
            };
            header?: never;
            path: {
                id: string;
                item_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "x-mindhost-plugin"?: string;
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "result": {
                     *         "data": [
                     *           [
                     *             "Ann",
                     *             3
                     *           ]
                     *         ],
                     *         "column_names": [
                     *           "name",
                     *           "orders"
                     *         ],
                     *         "column_types": [
                     *           {
                     *             "name": "name",
                     *             "type": "text",
                     *             "native_type": "text"
                     *           },
                     *           {
                     *             "name": "orders",
                     *             "type": "int64",
                     *             "native_type": "bigint"
                     *           }
                     *         ]
                     *       },
                     *       "total": 1,
                     *       "is_pagination_consistent": true,
                     *       "snapshot": "per_source"
                     *     }
                     */
                    "application/json": components["schemas"]["ResultPage"];
                };
            };
        };
    };
    export_result: {
        parameters: {
            query?: {
                formulas?: string;
            };
            header?: never;
            path: {
                id: string;
                item_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "content-disposition"?: string;
                    "x-mindhost-plugin"?: string;
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "text/csv": string;
                };
            };
        };
    };
    list_keys: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Key"][];
                };
            };
        };
    };
    create_key: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "dashboard",
                 *       "role": "user"
                 *     }
                 */
                "application/json": components["schemas"]["NewKey"];
            };
        };
        responses: {
            201: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *       "name": "dashboard",
                     *       "prefix": "mh_4QxK",
                     *       "role": "user",
                     *       "compat": null,
                     *       "attributes": {},
                     *       "created_at": "2026-01-15T09:30:00Z",
                     *       "expires_at": null,
                     *       "revoked_at": null,
                     *       "last_used_at": "2026-01-16T08:00:00Z",
                     *       "minds": null,
                     *       "policies": [
                     *         {
                     *           "datasource": "text",
                     *           "table": "text",
                     *           "filter": null,
                     *           "hidden": [
                     *             "text"
                     *           ],
                     *           "masked": {},
                     *           "problem": null
                     *         }
                     *       ],
                     *       "key": "mh_4QxK…"
                     *     }
                     */
                    "application/json": components["schemas"]["CreatedKey"];
                };
            };
        };
    };
    get_current_key: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *       "name": "dashboard",
                     *       "prefix": "mh_4QxK",
                     *       "role": "user",
                     *       "compat": null,
                     *       "attributes": {},
                     *       "created_at": "2026-01-15T09:30:00Z",
                     *       "expires_at": null,
                     *       "revoked_at": null,
                     *       "last_used_at": "2026-01-16T08:00:00Z",
                     *       "minds": null,
                     *       "workspace": "default"
                     *     }
                     */
                    "application/json": components["schemas"]["CurrentKey"];
                };
            };
        };
    };
    revoke_key: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    rotate_key: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "expires_at": "2099-01-01T00:00:00Z"
                 *     }
                 */
                "application/json": components["schemas"]["RotateKey"];
            };
        };
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *       "name": "dashboard",
                     *       "prefix": "mh_4QxK",
                     *       "role": "user",
                     *       "compat": null,
                     *       "attributes": {},
                     *       "created_at": "2026-01-15T09:30:00Z",
                     *       "expires_at": null,
                     *       "revoked_at": null,
                     *       "last_used_at": "2026-01-16T08:00:00Z",
                     *       "minds": null,
                     *       "policies": [
                     *         {
                     *           "datasource": "text",
                     *           "table": "text",
                     *           "filter": null,
                     *           "hidden": [
                     *             "text"
                     *           ],
                     *           "masked": {},
                     *           "problem": null
                     *         }
                     *       ],
                     *       "key": "mh_4QxK…"
                     *     }
                     */
                    "application/json": components["schemas"]["CreatedKey"];
                };
            };
        };
    };
    create_console_link: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "key": "mh_4QxK…"
                 *     }
                 */
                "application/json": components["schemas"]["NewConsoleLink"];
            };
        };
        responses: {
            201: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "path": "/console#code=4QxK…",
                     *       "expires_at": "text"
                     *     }
                     */
                    "application/json": components["schemas"]["ConsoleLink"];
                };
            };
        };
    };
    sign_in_console: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "code": "4QxK…"
                 *     }
                 */
                "application/json": components["schemas"]["ConsoleSignIn"];
            };
        };
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "key": "mh_4QxK…"
                     *     }
                     */
                    "application/json": components["schemas"]["ConsoleKey"];
                };
            };
        };
    };
    list_workspaces: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Workspace"][];
                };
            };
        };
    };
    create_workspace: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "team"
                 *     }
                 */
                "application/json": components["schemas"]["NewWorkspace"];
            };
        };
        responses: {
            201: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *       "name": "team",
                     *       "files_directory": "text",
                     *       "created_at": "2026-01-15T09:30:00Z"
                     *     }
                     */
                    "application/json": components["schemas"]["Workspace"];
                };
            };
        };
    };
    get_workspace: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *       "name": "team",
                     *       "files_directory": "text",
                     *       "created_at": "2026-01-15T09:30:00Z"
                     *     }
                     */
                    "application/json": components["schemas"]["Workspace"];
                };
            };
        };
    };
    delete_workspace: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    create_workspace_key: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "dashboard",
                 *       "role": "user"
                 *     }
                 */
                "application/json": components["schemas"]["NewWorkspaceKey"];
            };
        };
        responses: {
            201: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *       "name": "dashboard",
                     *       "prefix": "mh_4QxK",
                     *       "role": "user",
                     *       "compat": null,
                     *       "attributes": {},
                     *       "created_at": "2026-01-15T09:30:00Z",
                     *       "expires_at": null,
                     *       "revoked_at": null,
                     *       "last_used_at": "2026-01-16T08:00:00Z",
                     *       "minds": null,
                     *       "policies": [
                     *         {
                     *           "datasource": "text",
                     *           "table": "text",
                     *           "filter": null,
                     *           "hidden": [
                     *             "text"
                     *           ],
                     *           "masked": {},
                     *           "problem": null
                     *         }
                     *       ],
                     *       "key": "mh_4QxK…"
                     *     }
                     */
                    "application/json": components["schemas"]["CreatedKey"];
                };
            };
        };
    };
    list_plugins: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Plugin"][];
                };
            };
        };
    };
    install_plugin: {
        parameters: {
            query?: {
                dry_run?: boolean;
            };
            header?: {
                "x-mindhost-signature"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/wasm": string;
            };
        };
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "name": "connector-sqlite",
                     *       "title": "SQLite",
                     *       "version": "1.2.0",
                     *       "kind": "connector",
                     *       "engines": [
                     *         "sqlite"
                     *       ],
                     *       "digest": "1b3d5f60718293a4b5c6d7e8f9010213243546576879808a9bacbdce9f2c4a7b",
                     *       "size": 1843200,
                     *       "signer": "Example Ltd",
                     *       "world": "sql-connector",
                     *       "wit": "0.1.0",
                     *       "manifest": {
                     *         "name": "connector-sqlite",
                     *         "version": "1.2.0",
                     *         "kind": "connector",
                     *         "engines": [
                     *           "sqlite"
                     *         ]
                     *       },
                     *       "wider_rights": [
                     *         {
                     *           "name": "http:base_url=https://api.example.com"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["InspectedPlugin"];
                };
            };
            201: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "name": "connector-sqlite",
                     *       "title": "SQLite",
                     *       "version": "1.2.0",
                     *       "kind": "connector",
                     *       "engines": [
                     *         "sqlite"
                     *       ],
                     *       "digest": "1b3d5f60718293a4b5c6d7e8f9010213243546576879808a9bacbdce9f2c4a7b",
                     *       "size": 1843200,
                     *       "signer": "Example Ltd",
                     *       "world": "sql-connector",
                     *       "wit": "0.1.0",
                     *       "manifest": {
                     *         "name": "connector-sqlite",
                     *         "version": "1.2.0",
                     *         "kind": "connector",
                     *         "engines": [
                     *           "sqlite"
                     *         ]
                     *       },
                     *       "wider_rights": [
                     *         {
                     *           "name": "http:base_url=https://api.example.com"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["InspectedPlugin"];
                };
            };
        };
    };
    get_plugin: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "name": "connector-sqlite",
                     *       "kind": "connector",
                     *       "active": "1b3d5f60718293a4b5c6d7e8f9010213243546576879808a9bacbdce9f2c4a7b",
                     *       "missing": [
                     *         {
                     *           "serves": "connector postgres",
                     *           "digest": "1b3d5f60718293a4b5c6d7e8f9010213243546576879808a9bacbdce9f2c4a7b",
                     *           "instead": null
                     *         }
                     *       ],
                     *       "connection_data": null,
                     *       "versions": [
                     *         {
                     *           "name": "connector-sqlite",
                     *           "title": "SQLite",
                     *           "version": "1.2.0",
                     *           "kind": "connector",
                     *           "engines": [
                     *             "sqlite"
                     *           ],
                     *           "digest": "1b3d5f60718293a4b5c6d7e8f9010213243546576879808a9bacbdce9f2c4a7b",
                     *           "size": 1843200,
                     *           "signer": "Example Ltd",
                     *           "world": "sql-connector",
                     *           "wit": "0.1.0",
                     *           "status": "active",
                     *           "file": "connector-sqlite.wasm",
                     *           "rights": [
                     *             {
                     *               "name": "http:base_url=https://api.example.com"
                     *             }
                     *           ],
                     *           "wider_rights": [
                     *             {
                     *               "name": "http:base_url=https://api.example.com"
                     *             }
                     *           ]
                     *         }
                     *       ],
                     *       "rollouts": [
                     *         {
                     *           "id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *           "plugin": "connector-sqlite",
                     *           "from": "9f2c4a7b1e3d5f60718293a4b5c6d7e8f9010213243546576879808a9bacbdce",
                     *           "to": "1b3d5f60718293a4b5c6d7e8f9010213243546576879808a9bacbdce9f2c4a7b",
                     *           "version": "1.2.0",
                     *           "stage": "completed",
                     *           "reason": null,
                     *           "checks": [
                     *             {
                     *               "workspace": "default",
                     *               "name": "shop",
                     *               "outcome": "passed",
                     *               "message": ""
                     *             }
                     *           ],
                     *           "canary_share": null,
                     *           "stable": {
                     *             "calls": 120,
                     *             "faults": 0,
                     *             "median_ms": 3.5,
                     *             "p95_ms": 11
                     *           },
                     *           "candidate": {
                     *             "calls": 120,
                     *             "faults": 0,
                     *             "median_ms": 3.5,
                     *             "p95_ms": 11
                     *           },
                     *           "is_rollback": false,
                     *           "started_by": null,
                     *           "request_id": "0198f3c2-7a50-7b3f-8c21-9e0d4f6a1b22",
                     *           "started_at": "2026-01-15T09:30:00Z",
                     *           "ended_at": "2026-01-15T09:31:10Z"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["Plugin"];
                };
            };
        };
    };
    activate_plugin: {
        parameters: {
            query?: {
                wait?: number;
            };
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "version": "1.2.0"
                 *     }
                 */
                "application/json": components["schemas"]["ActivatePlugin"];
            };
        };
        responses: {
            202: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *       "plugin": "connector-sqlite",
                     *       "from": "9f2c4a7b1e3d5f60718293a4b5c6d7e8f9010213243546576879808a9bacbdce",
                     *       "to": "1b3d5f60718293a4b5c6d7e8f9010213243546576879808a9bacbdce9f2c4a7b",
                     *       "version": "1.2.0",
                     *       "stage": "completed",
                     *       "reason": null,
                     *       "checks": [
                     *         {
                     *           "workspace": "default",
                     *           "name": "shop",
                     *           "outcome": "passed",
                     *           "message": ""
                     *         }
                     *       ],
                     *       "canary_share": null,
                     *       "stable": {
                     *         "calls": 120,
                     *         "faults": 0,
                     *         "median_ms": 3.5,
                     *         "p95_ms": 11
                     *       },
                     *       "candidate": {
                     *         "calls": 120,
                     *         "faults": 0,
                     *         "median_ms": 3.5,
                     *         "p95_ms": 11
                     *       },
                     *       "is_rollback": false,
                     *       "started_by": null,
                     *       "request_id": "0198f3c2-7a50-7b3f-8c21-9e0d4f6a1b22",
                     *       "started_at": "2026-01-15T09:30:00Z",
                     *       "ended_at": "2026-01-15T09:31:10Z"
                     *     }
                     */
                    "application/json": components["schemas"]["Rollout"];
                };
            };
        };
    };
    roll_back_plugin: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *       "plugin": "connector-sqlite",
                     *       "from": "9f2c4a7b1e3d5f60718293a4b5c6d7e8f9010213243546576879808a9bacbdce",
                     *       "to": "1b3d5f60718293a4b5c6d7e8f9010213243546576879808a9bacbdce9f2c4a7b",
                     *       "version": "1.2.0",
                     *       "stage": "completed",
                     *       "reason": null,
                     *       "checks": [
                     *         {
                     *           "workspace": "default",
                     *           "name": "shop",
                     *           "outcome": "passed",
                     *           "message": ""
                     *         }
                     *       ],
                     *       "canary_share": null,
                     *       "stable": {
                     *         "calls": 120,
                     *         "faults": 0,
                     *         "median_ms": 3.5,
                     *         "p95_ms": 11
                     *       },
                     *       "candidate": {
                     *         "calls": 120,
                     *         "faults": 0,
                     *         "median_ms": 3.5,
                     *         "p95_ms": 11
                     *       },
                     *       "is_rollback": false,
                     *       "started_by": null,
                     *       "request_id": "0198f3c2-7a50-7b3f-8c21-9e0d4f6a1b22",
                     *       "started_at": "2026-01-15T09:30:00Z",
                     *       "ended_at": "2026-01-15T09:31:10Z"
                     *     }
                     */
                    "application/json": components["schemas"]["Rollout"];
                };
            };
        };
    };
    get_rollout: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *       "plugin": "connector-sqlite",
                     *       "from": "9f2c4a7b1e3d5f60718293a4b5c6d7e8f9010213243546576879808a9bacbdce",
                     *       "to": "1b3d5f60718293a4b5c6d7e8f9010213243546576879808a9bacbdce9f2c4a7b",
                     *       "version": "1.2.0",
                     *       "stage": "completed",
                     *       "reason": null,
                     *       "checks": [
                     *         {
                     *           "workspace": "default",
                     *           "name": "shop",
                     *           "outcome": "passed",
                     *           "message": ""
                     *         }
                     *       ],
                     *       "canary_share": null,
                     *       "stable": {
                     *         "calls": 120,
                     *         "faults": 0,
                     *         "median_ms": 3.5,
                     *         "p95_ms": 11
                     *       },
                     *       "candidate": {
                     *         "calls": 120,
                     *         "faults": 0,
                     *         "median_ms": 3.5,
                     *         "p95_ms": 11
                     *       },
                     *       "is_rollback": false,
                     *       "started_by": null,
                     *       "request_id": "0198f3c2-7a50-7b3f-8c21-9e0d4f6a1b22",
                     *       "started_at": "2026-01-15T09:30:00Z",
                     *       "ended_at": "2026-01-15T09:31:10Z"
                     *     }
                     */
                    "application/json": components["schemas"]["Rollout"];
                };
            };
        };
    };
    remove_plugin_version: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
                version: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    get_plugin_usage: {
        parameters: {
            query?: {
                from?: string;
                until?: string;
                limit?: number;
            };
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "object": "plugin.usage",
                     *       "plugin": "connector-sqlite",
                     *       "from": "2026-01-01",
                     *       "until": "2026-01-31",
                     *       "since_start": [
                     *         {
                     *           "version": "1.2.0",
                     *           "digest": "1b3d5f60718293a4b5c6d7e8f9010213243546576879808a9bacbdce9f2c4a7b",
                     *           "health": {
                     *             "status": "ok",
                     *             "until": null,
                     *             "since": null,
                     *             "reason": null,
                     *             "workspaces": [
                     *               {
                     *                 "workspace": "default",
                     *                 "status": "ok",
                     *                 "until": "2026-01-31",
                     *                 "since": "2026-01-15T09:30:00Z",
                     *                 "reason": "text"
                     *               }
                     *             ],
                     *             "targets": []
                     *           },
                     *           "instances": 1,
                     *           "figures": {
                     *             "calls": 120,
                     *             "call_ns": 0,
                     *             "cpu_ns": 0,
                     *             "upstream_ns": 0,
                     *             "plugin_errors": 0,
                     *             "upstream_errors": 0,
                     *             "host_errors": 0,
                     *             "caller_errors": 0,
                     *             "traps": 0,
                     *             "refused": 0,
                     *             "received_bytes": 0,
                     *             "sent_bytes": 0,
                     *             "result_bytes": 0,
                     *             "rows": 1250,
                     *             "input_tokens": 812,
                     *             "output_tokens": 64,
                     *             "instances_started": 0,
                     *             "peak_memory_bytes": 0
                     *           },
                     *           "targets": []
                     *         }
                     *       ],
                     *       "days": [
                     *         {
                     *           "day": "2026-01-15",
                     *           "version": "1.2.0",
                     *           "digest": "1b3d5f60718293a4b5c6d7e8f9010213243546576879808a9bacbdce9f2c4a7b",
                     *           "target_id": "0198f3c2-31aa-7e42-a1d3-5b0c9f8e7d66",
                     *           "target": "shop",
                     *           "workspace": "default",
                     *           "figures": {
                     *             "calls": 120,
                     *             "call_ns": 0,
                     *             "cpu_ns": 0,
                     *             "upstream_ns": 0,
                     *             "plugin_errors": 0,
                     *             "upstream_errors": 0,
                     *             "host_errors": 0,
                     *             "caller_errors": 0,
                     *             "traps": 0,
                     *             "refused": 0,
                     *             "received_bytes": 0,
                     *             "sent_bytes": 0,
                     *             "result_bytes": 0,
                     *             "rows": 1250,
                     *             "input_tokens": 812,
                     *             "output_tokens": 64,
                     *             "instances_started": 0,
                     *             "peak_memory_bytes": 0
                     *           }
                     *         }
                     *       ],
                     *       "has_more": false
                     *     }
                     */
                    "application/json": components["schemas"]["PluginUsage"];
                };
            };
        };
    };
    release_plugin: {
        parameters: {
            query?: {
                digest?: string;
            };
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "object": "plugin.released",
                     *       "plugin": "connector-sqlite",
                     *       "workspace": "default",
                     *       "versions": [
                     *         {
                     *           "version": "1.2.0",
                     *           "digest": "1b3d5f60718293a4b5c6d7e8f9010213243546576879808a9bacbdce9f2c4a7b",
                     *           "was_in_trouble": true,
                     *           "health": {
                     *             "status": "ok",
                     *             "until": null,
                     *             "since": null,
                     *             "reason": null,
                     *             "workspaces": [
                     *               {
                     *                 "workspace": "default",
                     *                 "status": "ok",
                     *                 "until": "2026-01-31",
                     *                 "since": "2026-01-15T09:30:00Z",
                     *                 "reason": "text"
                     *               }
                     *             ],
                     *             "targets": []
                     *           }
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["PluginReleased"];
                };
            };
        };
    };
    list_audit: {
        parameters: {
            query?: {
                after?: string;
                key_id?: string;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "object": "list",
                     *       "data": [
                     *         {
                     *           "id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *           "created_at": "2026-01-15T09:30:00Z",
                     *           "key_id": "0198f3c2-10b4-7c11-8f02-6d9e3a7b1c55",
                     *           "key_name": "dashboard",
                     *           "action": "POST /minds",
                     *           "resource": "/minds",
                     *           "mind": "sales",
                     *           "made": "sales",
                     *           "status": 200,
                     *           "request_id": "0198f3c2-7a50-7b3f-8c21-9e0d4f6a1b22"
                     *         }
                     *       ],
                     *       "first_id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *       "last_id": "0198f3c2-7a51-7d0e-9b6a-2f4c8e1d5a70",
                     *       "has_more": false
                     *     }
                     */
                    "application/json": components["schemas"]["Page_AuditEntry"];
                };
            };
        };
    };
    list_usage: {
        parameters: {
            query?: {
                from?: string;
                until?: string;
                key_id?: string;
                group?: "key" | "mind" | "day";
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "object": "list",
                     *       "from": "2026-01-01",
                     *       "until": "2026-01-31",
                     *       "data": [
                     *         {
                     *           "requests": 42,
                     *           "rows": 1250,
                     *           "bytes": 52310,
                     *           "input_tokens": 812,
                     *           "output_tokens": 64,
                     *           "day": "2026-01-15",
                     *           "key_id": "0198f3c2-10b4-7c11-8f02-6d9e3a7b1c55",
                     *           "key_name": "dashboard",
                     *           "mind": "sales"
                     *         }
                     *       ],
                     *       "has_more": false
                     *     }
                     */
                    "application/json": components["schemas"]["Usage"];
                };
            };
        };
    };
    list_running: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "object": "list",
                     *       "data": [
                     *         {
                     *           "id": "0190e4c7-3f2a-7b1c-8d5e-6f708192a3b4",
                     *           "kind": "answer",
                     *           "key_id": "0198f3c2-10b4-7c11-8f02-6d9e3a7b1c55",
                     *           "mind": "sales",
                     *           "text": "There were 1250 orders.",
                     *           "background": false,
                     *           "on_this_host": true,
                     *           "started_at": "2026-01-15T09:30:00Z"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["RunningList"];
                };
            };
        };
    };
    stop_running: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "0190e4c7-3f2a-7b1c-8d5e-6f708192a3b4",
                     *       "kind": "answer",
                     *       "key_id": "0198f3c2-10b4-7c11-8f02-6d9e3a7b1c55",
                     *       "mind": "sales",
                     *       "text": "There were 1250 orders.",
                     *       "background": false,
                     *       "on_this_host": true,
                     *       "started_at": "2026-01-15T09:30:00Z"
                     *     }
                     */
                    "application/json": components["schemas"]["Running"];
                };
            };
        };
    };
}
