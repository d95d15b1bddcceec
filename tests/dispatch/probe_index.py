"""Which tests run which rule of the dispatcher's specification.

Rules have the specification's numbers: K keys, R the key set of a call, T tables, X kernels, S schemas, L the
library API, O operator objects, U debugging aids, and of the functionality levels A autograd, C autocast, D the Python
dispatcher, F functionalization, G the stack of transforms, J traces, M meta and fake tensors, P dispatch modes, V vmap.
``K17 probe``, ``T7 table`` are the tables that belong to a rule.

`LATER` says what of a rule waits for a feature that does not exist yet; the tests named here run the part of it that
the dispatcher itself has to do, with a double of the feature where one is needed.
"""

from __future__ import annotations

_PLACES = {
    "calls": "dispatch/test_calls.py",
    "introspect": "dispatch/test_introspect.py",
    "keys": "dispatch/test_keys.py",
    "layouts": "dispatch/test_layout_keys.py",
    "library": "dispatch/test_library.py",
    "namespace": "dispatch/test_namespace.py",
    "numbers": "dispatch/test_numbers.py",
    "python": "dispatch/test_python_dispatcher.py",
    "quantized": "quantized/test_quantized_gradients.py",
    "schema": "dispatch/test_schema.py",
    "scopes": "dispatch/test_scopes.py",
    "table": "dispatch/test_table.py",
    "kinds": "dispatch/test_tensor_keys.py",
    "trace": "dispatch/test_trace.py",
    "walks": "dispatch/test_walks.py",
    "custom": "library/test_custom_op.py",
    "infer": "library/test_infer_schema.py",
    "opcheck": "library/test_opcheck.py",
    "formulas": "library/test_register_autograd.py",
    "vmap": "library/test_register_vmap.py",
    "modes": "modes/test_dispatch_mode.py",
    "subclasses": "modes/test_wrapper_subclasses.py",
    "higher": "modes/test_higher_order.py",
    "protocol": "modes/test_function_protocol.py",
    "tools": "utils/test_debug_tools.py",
    "grad": "autograd/test_grad_modes.py",
    "fallback": "autograd/test_autograd_fallback.py",
    "views": "autograd/test_views_and_versions.py",
    "engine": "autograd/test_engine.py",
    "hooks": "autograd/test_hooks_and_graph.py",
    "backward": "autograd/test_scopes_in_backward.py",
    "function modes": "autograd/test_function_modes.py",
    "logging": "testing/test_logging_tensor.py",
    "flops": "utils/test_flop_counter.py",
    "mapped": "functorch/test_vmap.py",
    "transforms": "functorch/test_grad_transforms.py",
    "functions": "functorch/test_functions_in_transforms.py",
    "functional": "functionalize/test_functional_tensors.py",
    "traces": "functionalize/test_functional_traces.py",
    "make_fx": "tracing/test_make_fx.py",
    "make_fx db": "tracing/test_make_fx_op_db.py",
    "make_fx oracle": "tracing/test_make_fx_oracle.py",
    "decompositions": "tracing/test_decompositions.py",
    "compiled": "compiler/test_aot_function.py",
    "functional db": "functionalize/test_functional_op_db.py",
    "programs": "functionalize/test_functional_programs.py",
    "lazy": "math_bits/test_lazy_bits.py",
    "zeros": "math_bits/test_zero_tensors.py",
    "lazy db": "math_bits/test_lazy_op_db.py",
    "lazy oracle": "math_bits/test_lazy_bits_oracle.py",
    "functionalize": "functorch/test_functionalize_transform.py",
    "meta db": "ops/test_op_db.py",
    "fakes": "fake/test_fake_tensors.py",
    "fake mode": "fake/test_fake_mode.py",
    "fake models": "fake/test_fake_models.py",
    "fake db": "fake/test_fake_op_db.py",
    "constants": "fake/test_fake_constants.py",
    "symbols": "fake/test_fake_symbols.py",
    "policies": "autocast/test_autocast_policies.py",
    "autocast": "autocast/test_autocast_scopes.py",
    "autocast in transforms": "autocast/test_autocast_in_transforms.py",
    "autocast of backends": "backends/test_backend_autocast.py",
}

# rule: "place: test test; place: test"
_RULES = {
    # 1. keys and key sets
    "K1": "keys: test_functionalities_are_those_of_the_reference_in_its_order test_a_higher_functionality_runs_first"
    " test_keys_that_fall_through_by_default test_keys_without_a_fallback test_autograd_keys_that_have_a_fallback"
    " test_keys_with_a_fallback_that_works test_order_of_runtime_keys_agrees_with_the_reference",
    "K2": "keys: test_six_functionalities_are_per_backend_and_name_their_keys",
    "K3": "keys: test_autocast_keys_are_functionalities_of_their_own; scopes: test_autocast_scopes_touch_one_key_each",
    "K4": "keys: test_backends_are_ordered test_highest_priority; calls: test_including_meta_redirects",
    "K5": "keys: test_device_types_have_keys test_device_types_without_a_key",
    "K6": "keys: test_alias_keys test_building_blocks_undefined_and_aliases",
    "K7": "keys: test_alias_membership test_slots_filled_by_one_alias",
    "K8": "keys: test_implicit_composites_do_not_cover_functionalize_or_batched;"
    " table: test_batched_takes_only_the_batched_alias test_each_rule_comes_before_the_next",
    "K9": "keys: test_a_set_does_not_know_which_backend_a_functionality_came_with",
    "K10": "keys: test_building_blocks_undefined_and_aliases",
    "K11": "keys: test_has_compares_all_bits_of_the_key",
    "K12": "keys: test_union_and_intersection_act_on_both_kinds_of_bits test_backend_bits_survive_removal"
    " test_removing_a_key_removes_the_functionality_of_every_backend",
    "K13": "keys: test_highest_priority",
    "K14": "keys: test_iteration_goes_from_the_lowest_functionality_and_backend_up test_full_has_every_runtime_key",
    "K15": "keys: test_full_after test_full_after_agrees_with_the_reference test_full_has_every_runtime_key",
    "K16": "keys: test_full_after_keeps_the_python_dispatcher; python: test_it_survives_masking",
    "K17": "keys: test_named_sets",
    "K17 probe": "keys: test_a_set_does_not_know_which_backend_a_functionality_came_with"
    " test_removing_a_key_removes_the_functionality_of_every_backend test_backend_bits_survive_removal"
    " test_building_blocks_undefined_and_aliases test_full_after test_named_sets test_full_has_every_runtime_key",
    # 2. the key set of a call
    "R1": "calls: test_with_keyset_gets_the_masked_set_of_a_call test_excluded_beats_included"
    " test_including_meta_redirects; introspect: test_explain test_explain_heeds_ambient_sets",
    "R2": "calls: test_the_mask_is_per_operator_and_per_backend",
    "R3": "calls: test_excluded_beats_included; scopes: test_excluded_beats_included_in_every_pair",
    "R4": "calls: test_redispatch_looks_at_neither_arguments_nor_ambient_sets",
    "R5": "calls: test_a_new_thread_starts_from_the_defaults; scopes: test_a_new_thread_is_in_no_scope;"
    " backward: test_a_pass_in_a_fresh_thread; engine: test_grad_mode_is_per_thread",
    "R6": "calls: test_which_arguments_count test_keyword_only_tensors_count;"
    " schema: test_dispatch_positions_are_those_of_declared_tensors",
    "R7": "calls: test_which_arguments_count; schema: test_dispatch_positions_are_those_of_declared_tensors",
    "R8": "calls: test_arguments_that_do_not_match_are_refused_before_dispatch",
    "R9": "calls: test_an_empty_list_ends_at_undefined test_operators_without_tensors",
    "R10": "numbers: test_a_number_stands_for_a_tensor test_a_number_contributes_no_key_that_matters"
    " test_numbers_alone_make_tensors_of_the_cpu test_elsewhere_it_is_a_type_error"
    " test_operator_objects_raise_a_mismatch test_custom_operators_take_no_numbers; namespace: test_numbers_for_tensors",
    "R10 probe": "calls: test_probe_of_mixed_tensors test_which_arguments_count test_an_empty_list_ends_at_undefined",
    "R11": "kinds: test_every_backend_has_its_keys test_layouts_without_a_backend_have_the_other_autograd"
    " test_real_tensors_have_the_keys_of_their_kind test_requires_grad_changes_no_keys",
    "R12": "kinds: test_kinds_of_tensors test_a_call_passes_the_levels_of_a_tensor_from_the_highest_down"
    " test_real_tensors_have_the_keys_of_their_kind test_keys_of_subclasses test_kinds_agree_with_the_reference"
    " test_plain_tensors_never_carry_the_python_keys; walks: test_keys_of_dense_tensors test_keys_of_inference_tensors"
    " test_keys_of_meta_tensors; quantized: test_constructors_give_the_key_set",
    "R13": "kinds: test_views_inherit_lazy_bits_and_results_do_not; lazy: test_conj_of_a_conjugate_view_has_no_bit",
    "R14": "calls: test_defaults",
    "R15": "scopes: test_what_a_scope_changes test_scopes_nest_and_end_with_errors test_a_scope_undoes_only_what_it_did"
    " test_inference_mode_off_undoes_it test_autocast_scopes_touch_one_key_each;"
    " calls: test_exclude_removes_on_exit_only_what_it_added test_include_removes_on_exit_only_what_it_added"
    " test_set_excluded_forces_membership_and_restores test_force_and_preserve test_guards_restore_on_exceptions;"
    " grad: test_scopes_and_keys test_scopes_nest; autocast: test_scopes_nest",
    "R16": "calls: test_query_of_a_per_backend_key_compares_both_bits",
    "R17": "grad: test_which_levels_run; calls: test_levels_of_a_normal_call test_grad_mode_changes_no_keys"
    " test_levels_in_inference_mode test_an_inference_tensor_outside_meets_ad_inplace_or_view"
    " test_levels_below_the_guards",
    "R18": "grad: test_inference_tensors_have_no_version test_inplace_on_inference_tensors"
    " test_what_comes_of_inference_tensors test_what_comes_of_normal_tensors_in_inference_mode"
    " test_inference_tensors_and_gradients test_inference_tensors_as_operands",
    "R19": "walks: test_factories_choose_their_backend_and_redispatch test_factories_choose_by_layout_too"
    " test_nothing_between_backend_select_and_the_backend_runs; modes: test_modes_see_factories;"
    " calls: test_operators_without_tensors",
    "R19 probe": "calls: test_excluding_one_autograd_key_excludes_all test_excluding_cpu_removes_dense_for_meta_too"
    " test_including_meta_redirects test_excluded_beats_included test_exclude_removes_on_exit_only_what_it_added",
    "R20": "walks: test_an_ordinary_operator test_in_place_and_view_operators"
    " test_factories_choose_their_backend_and_redispatch test_an_implicit_composite_stands_at_the_autograd_key"
    " test_under_autocast_arguments_are_cast_and_the_call_made_again test_under_a_dispatch_mode"
    " test_a_lazy_bit_is_met_below_autograd test_inside_vmap test_inference_mode_leaves_the_backend test_below_autograd;"
    " modes: test_operators_with_a_kernel_of_their_own_are_seen_in_pytorch_s_pieces",
    # 3. the table
    "T1": "table: test_each_rule_comes_before_the_next test_a_direct_kernel_beats_all_aliases"
    " test_explicit_nonfunctional_beats_explicit test_every_runtime_key_resolves_like_the_reference_rules",
    "T2": "table: test_consequences test_a_direct_kernel_of_any_backend_takes_the_composite_away_from_its_autograd"
    " test_a_nested_kernel_takes_the_composite_away_from_autograd_nested",
    "T3": "table: test_consequences test_ambiguous_kernel_raises_when_called",
    "T4": "table: test_consequences test_undefined_never_takes_autograd_nested_or_fallback_kernels",
    "T5": "table: test_consequences",
    "T6": "table: test_registering_and_removing_recompute_entries"
    " test_fallbacks_registered_before_and_after_an_operator_affect_it; introspect: test_invariants",
    "T7 table": "table: test_consequences test_a_nested_kernel_takes_the_composite_away_from_autograd_nested"
    " test_a_direct_kernel_of_any_backend_takes_the_composite_away_from_its_autograd",
    "T8": "table: test_sparse_kernel_beside_a_composite_is_shadowed_at_autograd",
    "T9": "table: test_each_rule_comes_before_the_next test_batched_decomposition",
    "T10": "table: test_a_backend_fallback_does_not_see_composites",
    "T11": "table: test_missing_key_names_operator_key_and_available_keys test_missing_meta_kernel"
    " test_missing_without_tensor_arguments test_missing_kernel_of_a_renamed_backend",
    "T12": "table: test_ambiguous_kernel_raises_when_called",
    "T13": "table: test_kernels_of_one_key_form_a_stack test_removing_the_newest_reveals_the_previous",
    "T14": "table: test_overriding_warns_once_per_process test_overriding_meta_and_mtia_never_warns",
    "T15": "table: test_kernels_may_come_before_the_definition test_kernels_outlive_the_definition",
    "T16": "table: test_an_entry_disappears_with_its_last_registration",
    "T17": "table: test_defining_twice_names_both_places",
    "T18": "table: test_undefined_and_catch_all_mean_composite_implicit",
    "T18 probe": "table: test_kernels_of_one_key_form_a_stack test_kernels_outlive_the_definition"
    " test_kernels_may_come_before_the_definition; library: test_everything_goes_with_the_last_reference",
    # 4. kernels
    "X1": "calls: test_arguments_arrive_in_schema_order_however_they_were_written test_arguments_called_self",
    "X2": "calls: test_probe_of_stripped_defaults test_fallbacks_get_stripped_arguments_too;"
    " schema: test_probe_of_default_stripping_and_conversion test_a_tensor_is_never_compared_with_a_default;"
    " modes: test_probe_of_two_modes",
    "X3": "schema: test_conversion_table test_conversion_of_tensors",
    "X3 probe": "calls: test_probe_of_stripped_defaults; schema: test_probe_of_default_stripping_and_conversion",
    "X4": "calls: test_returns_are_converted test_wrong_returns_raise test_returned_tensors_keep_their_identity"
    " test_an_int_return_takes_a_number_out_of_a_tensor",
    "X5": "calls: test_exceptions_of_kernels_arrive_unchanged",
    "X6": "calls: test_with_keyset_gets_the_masked_set_of_a_call test_with_keyset_gets_the_given_set_of_a_redispatch",
    "X7": "calls: test_direct_fallthrough_overrides_a_fallback_and_the_other_way;"
    " table: test_direct_fallthrough_expands_over_an_alias",
    "X8": "calls: test_fallthrough_on_a_dense_key_ends_at_undefined",
    "X9": "calls: test_fallbacks_get_stripped_arguments_too test_a_fallback_with_key_set; library: test_fallback_rules",
    "X10": "calls: test_redispatch_to_a_fallthrough_key_goes_on_below"
    " test_redispatch_looks_at_neither_arguments_nor_ambient_sets",
    "X11": "calls: test_levels_of_a_normal_call; grad: test_which_levels_run",
    "X12": "calls: test_a_call_inside_a_kernel_starts_from_the_top test_an_autograd_kernel_that_calls_itself_recurses",
    "X13": "calls: test_a_fetched_kernel_can_be_called_and_outlives_its_override"
    " test_fetching_returns_what_the_table_computes test_fetching_what_is_not_there",
    "X14": "calls: test_exceptions_of_kernels_arrive_unchanged",
    # 5. schemas, libraries, operators
    "S1": "schema: test_accepted_schemas_print_as_they_were_written test_rejected_schemas_say_what_is_wrong"
    " test_whitespace_is_insignificant test_every_schema_of_the_reference_round_trips",
    "S2": "schema: test_rejected_schemas_say_what_is_wrong",
    "S3": "schema: test_alias_sets_are_queryable test_alias_info_of_a_list_has_that_of_its_elements",
    "S4": "schema: test_derived_flags test_flags_agree_with_the_reference",
    "S5": "schema: test_rejected_schemas_say_what_is_wrong test_introspection_of_arguments_and_returns",
    "S6": "schema: test_conversion_table test_defaults_are_python_values",
    "S7": "schema: test_printing_normalizes",
    "S8": "schema: test_introspection_of_arguments_and_returns test_types_have_two_spellings"
    " test_list_types_tell_their_parts test_flags_agree_with_the_reference",
    "S8 probe": "schema: test_accepted_schemas_print_as_they_were_written test_printing_normalizes"
    " test_rejected_schemas_say_what_is_wrong",
    "S9": "schema: test_mismatches_raise_with_the_shape_of_the_reference test_missing_keyword_only_argument",
    "S10": "schema: test_conversion_table test_conversion_of_tensors",
    "S11": "namespace: test_packets_try_overloads_in_order_of_definition test_packets_run_the_first_overload_that_fits"
    " test_packets_report_every_mismatch test_a_single_overload_reports_its_own_mismatch"
    " test_errors_of_kernels_are_no_mismatches",
    "L1": "library: test_kinds test_one_def_library_per_namespace test_built_in_namespaces_have_a_def_library"
    " test_impl_libraries_may_not_define",
    "L2": "library: test_everything_goes_with_the_last_reference test_cached_operators_are_evicted"
    " test_destroying_twice_does_nothing test_helpers_without_a_library_live_on test_fake_impls_go_with_their_library;"
    " modes: test_torch_dispatch_rules_come_before_the_handler_of_a_mode",
    "L3": "library: test_define_returns_the_name_and_takes_its_own_prefix test_alias_analysis"
    " test_adding_and_removing_an_overload_refreshes_the_packet test_a_failed_define_leaves_nothing",
    "L4": "library: test_impl_keys test_impl_names test_impl_wants_a_callable test_allow_override",
    "L5": "library: test_meta_kernels_of_composites_are_refused",
    "L6": "library: test_fallback_rules test_a_fallthrough_fallback",
    "L7": "library: test_module_define test_module_impl test_module_register_kernel test_decorators_of_the_older_form",
    "L8": "library: test_tags_are_metadata test_all_tags_of_the_specification_exist test_promises_of_tags",
    "L9": "custom: test_the_schema_comes_from_the_hints test_registered_levels test_versions_of_written_arguments_are_bumped"
    " test_defining_again_replaces_the_whole_operator test_an_explicit_schema_must_agree_with_mutates_args"
    " test_keyword_only_tensors_are_refused test_kernels_by_device test_operators_without_tensors_route_by_device"
    " test_operators_without_tensors_need_a_device_argument",
    "L10": "custom: test_outputs_may_not_alias test_a_mutated_input_may_not_be_returned test_views_may_alias test_out",
    "L11": "infer: test_type_map test_mutated_arguments test_refused test_refused_mutations test_agrees_with_the_reference",
    "L12": "library: test_a_fake_impl_is_the_meta_kernel test_fake_impls_go_with_their_library test_fake_impls_are_refused"
    " test_the_context_of_a_fake_impl; custom: test_fake_impl_serves_meta_tensors test_trivial_fake_impls;"
    " fake mode: test_fake_impls_run_under_the_mode_on_fake_tensors test_the_newest_fake_impl_counts"
    " test_a_size_that_depends_on_data test_custom_operators; symbols: test_a_fake_impl_asks_for_a_size",
    "L13": "formulas: test_a_formula test_without_a_formula_backward_says_so test_nothing_is_recorded_without_need"
    " test_the_forward_kernel_runs_below_autograd test_keyword_only_arguments test_tensor_lists"
    " test_gradients_of_the_wrong_structure test_a_bare_gradient_is_one test_formulas_are_refused"
    " test_outputs_of_several_kinds",
    "L14": "vmap: test_the_rule_gets_info_dims_and_unwrapped_arguments test_levels_are_told_apart test_lists"
    " test_out_dims_may_be_one_for_all test_wrong_results test_keyword_only_arguments_pass_through"
    " test_a_rule_goes_with_its_library test_the_batched_level_needs_vmap test_defaults_are_stripped_as_for_every_kernel",
    "L15": "custom: test_autocast_casts_floating_tensors_of_its_device test_autocast_of_a_raw_operator",
    "L16": "modes: test_torch_dispatch_rules_come_before_the_handler_of_a_mode test_torch_dispatch_rules_of_a_subclass;"
    " library: test_torch_dispatch_rules; custom: test_torch_dispatch_rules_replace_each_other",
    "L17": "opcheck: test_a_good_operator test_undeclared_mutation test_undeclared_aliasing test_failures_as_data"
    " test_autograd_hidden_in_a_backend_kernel test_missing_and_wrong_fake_impls test_gradients_are_compared"
    " test_what_can_be_checked",
    "O1": "namespace: test_identity_is_stable test_names test_what_is_not_there",
    "O2": "namespace: test_what_an_overload_tells test_overloads_are_values test_redispatch"
    " test_has_kernel_for_dispatch_key test_decompose test_op_dk test_py_impl_rules test_names",
    "O3": "namespace: test_the_function_protocol_sees_overloads_and_packets;"
    " walks: test_subclasses_see_overloads_and_packets test_modes_see_overloads_and_packets",
    # 6. of the functionality levels
    "A1": "fallback: test_backends_never_see_autograd",
    "A2": "fallback: test_an_output_without_history test_an_output_whose_history_was_recorded_inside"
    " test_outputs_that_have_no_gradient test_mutable_outputs_get_no_node test_nothing_to_do_without_gradients"
    " test_autograd_keys_are_not_excluded test_mode_is_checked",
    "A3": "fallback: test_an_output_whose_history_was_recorded_inside test_autograd_keys_are_not_excluded",
    "A4": "fallback: test_mutable_outputs_get_no_node test_a_real_inplace_operator_inside_checks_for_itself",
    "A5": "fallback: test_an_operator_whose_derivative_is_missing_says_so_in_backward",
    "A6": "walks: test_in_place_and_view_operators; views: test_base_is_the_root_of_all_views test_results_start_at_version_zero",
    "A7": "views: test_version_is_shared_by_views_and_detached_tensors_but_not_by_data test_base_is_the_root_of_all_views"
    " test_results_start_at_version_zero",
    "A8": "views: test_inplace_on_a_leaf test_inplace_on_a_view_of_a_leaf test_both_are_allowed_without_grad_mode"
    " test_inplace_on_a_view_of_a_result_rewrites_histories test_inplace_on_one_of_several_views"
    " test_a_view_made_without_grad_mode test_a_view_made_in_inference_mode test_out_refuses_gradients",
    "A9": "views: test_a_saved_input_that_changed_is_an_error test_a_saved_output_that_changed_is_an_error;"
    " engine: test_saved_tensors_are_freed_by_backward test_dropping_a_graph_frees_it_at_once",
    "A10": "hooks: test_hooks_run_when_tensors_are_saved_and_when_they_are_used test_hooks_can_be_forbidden",
    "A11": "modes: test_modes_run_below_autograd test_subclasses_in_backward;"
    " subclasses: test_programs_log_what_they_log_in_torch test_double_backward test_saved_tensors_are_checked_and_freed",
    "A12": "modes: test_in_place_handlers_return_the_argument_whatever_they_return;"
    " fallback: test_what_an_inplace_kernel_returns_does_not_matter",
    "P1": "modes: test_reentrant_dispatch; walks: test_under_a_dispatch_mode",
    "P2": "modes: test_a_mode_is_off_in_its_own_handler test_lazy_bits_stay_on_in_handlers",
    "P3": "modes: test_probe_of_two_modes test_probe_of_subclasses",
    "P4": "modes: test_queries test_a_mode_may_enter_itself_again test_errors_restore_modes_and_keys",
    "P5": "modes: test_infra_modes_run_after_all_of_the_user_s test_an_infra_slot_holds_one_mode",
    "P6": "modes: test_probe_of_subclasses test_each_class_is_asked_once_from_the_left test_modes_come_before_subclasses"
    " test_results_of_handlers_are_checked",
    "P7": "modes: test_function_modes_and_handlers_run_before_dispatch test_modes_come_before_subclasses;"
    " function modes: test_a_mode_sees_the_call_alone; protocol: test_handlers_see_what_they_see_in_torch"
    " test_modes_see_properties_and_protocols",
    "P8": "modes: test_results_of_handlers_are_checked test_a_handler_may_return_none_for_a_tensor",
    "P9": "modes: test_composites_are_seen_in_pieces_while_autograd_keys_live"
    " test_operators_with_a_kernel_of_their_own_are_seen_in_pytorch_s_pieces",
    "P10": "modes: test_reentrant_dispatch",
    "P11": "modes: test_disable_torch_dispatch test_the_python_key_without_a_handler_is_an_internal_error",
    "P12": "subclasses: test_the_declared_geometry test_keys_are_those_of_the_declared_kind test_what_is_refused"
    " test_dispatch_policies_ask_each_time test_programs_log_what_they_log_in_torch",
    "P13": "modes: test_modes_see_factories test_tensors_made_of_values_appear_as_lift_fresh",
    "6.10 probe": "modes: test_probe_of_two_modes test_probe_of_a_user_mode_around_a_fake_one test_probe_of_subclasses"
    " test_composites_are_seen_in_pieces_while_autograd_keys_live",
    "P14": "modes: test_lazy_bits_stay_on_in_handlers",
    "D1": "python: test_py_impls_count_only_while_it_is_on test_aliases_resolve_by_the_rules_of_the_table"
    " test_registrations_are_noticed test_lower_levels_are_resolved_in_python_too",
    "D2": "python: test_py_impls_count_only_while_it_is_on test_a_function_for_a_mode_stands_for_its_handler"
    " test_a_function_for_a_mode_is_for_that_very_class test_a_function_for_the_class_of_a_tensor"
    " test_a_function_for_a_transform; namespace: test_py_impl_rules",
    "D3": "higher: test_a_missing_rule_names_the_operator_and_the_key test_levels_run_in_order"
    " test_tensors_are_found_at_any_depth test_default_fallthroughs test_modes_must_opt_in test_rules_of_transforms"
    " test_rules_of_the_classes_of_tensors",
    "D4": "higher: test_pre_dispatch_modes_stand_above_autograd test_pre_dispatch_slots"
    " test_pre_dispatch_modes_and_higher_order_operators",
    # 6.2: autocast
    "C1": "walks: test_under_autocast_arguments_are_cast_and_the_call_made_again;"
    " autocast: test_gradients_are_near_those_of_float32 test_backward_outside_computes_in_the_dtypes_of_forward;"
    " autocast in transforms: test_dtypes_and_values_are_those_of_torch",
    "C2": "autocast: test_probe_of_dtypes test_keyword_arguments_and_lists_are_cast test_tensors_elsewhere_are_not_cast",
    "C3": "policies: test_a_table_says_and_prints_what_each_operator_does test_dtypes_on_the_cpu_are_those_of_torch"
    " test_policies_of_cuda_are_those_of_torch; autocast: test_the_set_dtype_policies test_probe_of_errors",
    "C4": "autocast: test_probe_of_dtypes test_out_and_inplace_forms_keep_the_dtype_they_write_to",
    "C5": "autocast: test_the_switches; autocast of backends: test_a_registered_backend_has_cudas_lists",
    "C6": "autocast: test_only_leaves_that_require_grad_are_kept test_two_uses_share_the_cast_and_gradients_add_up"
    " test_the_outermost_exit_empties_the_cache test_a_cast_without_history_is_not_used_with_grad_mode"
    " test_a_weight_that_changed_is_cast_again test_the_cache_can_be_off",
    "C7": "autocast: test_scopes_nest test_one_instance_can_be_entered_again test_another_dtype_is_another_cast",
    "C8": "autocast: test_a_dtype_that_the_device_cannot_compute_in_disables test_without_the_device_autocast_is_off"
    " test_errors_of_the_switches",
    "C9": "policies: test_listed_operators_are_those_of_torch test_dtypes_on_the_cpu_are_those_of_torch",
    "C10": "policies: test_listed_operators_are_those_of_torch test_policies_of_cuda_are_those_of_torch;"
    " autocast of backends: test_a_registered_backend_has_cudas_lists",
    "6.2 probe": "autocast: test_probe_of_dtypes test_probe_of_errors test_probe_of_calls"
    " test_out_and_inplace_forms_keep_the_dtype_they_write_to",
    # 6.3 to 6.5: vmap, the stack of transforms, functionalization
    "V1": "mapped: test_a_level_is_one_above_the_stack test_what_a_batched_tensor_looks_like test_nested_maps_are_a_table",
    "V2": "mapped: test_rules_see_the_innermost_level_alone test_a_tensor_of_an_outer_level_is_not_batched_in_the_inner_one",
    "V3": "mapped: test_in_dims_and_out_dims test_structures_of_arguments_and_results"
    " test_a_result_that_is_not_batched_is_repeated test_out_dims_none test_keyword_arguments_are_the_same_for_all"
    " test_wrong_arguments test_wrong_results test_chunks",
    "V4": "mapped: test_a_composite_runs_as_its_parts_and_a_custom_one_in_a_loop",
    "V5": "mapped: test_what_no_loop_can_be_made_of test_the_loop_stacks_each_return_and_says_so"
    " test_the_loop_writes_in_place test_policies_of_the_loop test_the_loop_refuses_no_examples",
    "V6": "mapped: test_what_no_loop_can_be_made_of test_a_composite_runs_as_its_parts_and_a_custom_one_in_a_loop",
    "V7": "mapped: test_error_is_the_default test_same_and_different test_dropout_in_the_three_modes"
    " test_chunks_repeat_the_same_draws",
    "V8": "mapped: test_values_and_dynamic_shapes_are_refused test_in_place_on_what_is_captured",
    "G1": "transforms: test_the_stack_and_its_levels test_keys_are_included_while_the_stack_is_not_empty",
    "G2": "transforms: test_the_way_of_one_call test_what_an_argument_looks_like",
    "G3": "transforms: test_the_way_of_one_call",
    "G4": "transforms: test_the_way_of_one_call test_no_grad_outside",
    "G5": "transforms: test_the_way_of_one_call",
    "G6": "transforms: test_modes_see_calls_after_all_transforms",
    "G7": "transforms: test_what_an_argument_looks_like test_captured_tensors_are_constants"
    " test_a_live_wrapper_in_another_thread_is_refused",
    "G8": "transforms: test_no_grad_inside test_no_grad_outside test_nested_gradients test_changes_in_place"
    " test_changes_of_views_in_place test_what_is_refused test_no_grad_outside_of_the_inner_level_cuts_the_outer_one",
    "G9": "transforms: test_a_custom_operator_uses_its_formula;"
    " functions: test_what_is_refused test_a_generated_rule_uses_the_formula_at_every_level",
    "F1": "functional: test_a_wrapper_mirrors_its_value test_aliases_share_their_storage",
    "F2": "functional: test_custom_operators test_in_place_views_change_no_data test_out_arguments_are_written"
    " test_every_operator_that_writes_is_provided_for; functional db: test_functions test_inplace_methods test_out_arguments",
    "F3": "functional: test_factories_are_wrapped_inside_of_the_scope_only test_a_plain_tensor_is_changed_as_ever"
    " test_a_plain_tensor_is_not_changed_by_a_functional_one",
    "F4": "functional: test_a_base_is_stale_until_it_is_synced test_updates_are_applied_in_order_and_once;"
    " programs: test_programs_give_the_same_with_and_without",
    "F5": "traces: test_probe_table; functionalize: test_the_operators_below test_results_and_inputs_are_those_of_the_function",
    "F6": "functional: test_numbers_are_never_wrapped test_keys_of_a_wrapper test_resize_is_a_view_or_a_new_storage",
    "F7": "functional: test_custom_operators; compiled: test_custom_operators_that_change_arguments",
    "6.4 probe": "transforms: test_no_grad_inside test_no_grad_outside test_nested_gradients test_changes_in_place"
    " test_what_is_refused",
    "6.5 probe": "traces: test_probe_table; functionalize: test_the_operators_below",
    # 6.12: traces
    "J1": "make_fx: test_composites_are_taken_apart test_vmap_is_applied test_gradients_are_inline test_functionalize_inside"
    " test_backward_inside test_fake_traces_compute_nothing; make_fx db: test_functions test_inplace_methods;"
    " make_fx oracle: test_the_same_nodes",
    "J2": "make_fx: test_composites_are_whole_above_autograd test_grad_mode_above_autograd"
    " test_pre_dispatch_keeps_composites_and_decomposes_by_table; make_fx oracle: test_the_same_nodes_above_autograd",
    "J3": "make_fx: test_tensors_from_outside_are_attributes test_parameters_are_attributes"
    " test_tensors_of_python_data_are_constants test_inplace_operators_are_nodes test_what_was_changed_is_denoted_by_the_change",
    "J4": "make_fx: test_dead_code_is_kept test_elements_of_traced_tensors_are_refused"
    " test_elements_of_known_constants_may_be_read test_a_constant_that_was_changed_is_known_no_longer"
    " test_sizes_that_data_decides",
    "J5": "make_fx: test_a_table_takes_operators_apart test_sizes_are_those_of_the_trace test_sizes_are_nodes;"
    " decompositions: test_traces_with_a_table; make_fx oracle: test_the_same_nodes_with_symbolic_sizes",
    "6.12 probe": "make_fx: test_composites_are_taken_apart test_composites_are_whole_above_autograd"
    " test_tensors_of_python_data_are_constants test_dead_code_is_kept test_vmap_is_applied test_gradients_are_inline",
    # 6.6 and 6.7: conjugate and negative views, zeros without memory
    "B1": "lazy: test_conj_is_a_view_with_the_bit test_conj_of_a_conjugate_view_has_no_bit"
    " test_conj_of_a_real_tensor_is_the_tensor test_parts_of_a_conjugate_view test_negative_views",
    "B2": "lazy: test_writing_to_a_conjugate_view_stores_the_conjugate test_out_arguments test_lists"
    " test_schemas_that_the_fallback_cannot_serve; lazy db: test_conjugate_views test_negative_views"
    " test_writing_in_place test_writing_to_out",
    "B3": "lazy: test_views_keep_the_bits test_copies_between_views test_in_place_conjugation;"
    " lazy db: test_bits_of_results; lazy oracle: test_chains",
    "B4": "lazy: test_negative_stands_above_conjugate_below_autograd_and_above_functionalize",
    "B5": "zeros: test_what_it_is test_it_is_immutable",
    "B6": "zeros: test_kinds_and_values_of_results test_results_are_the_reference_s",
    "B7": "zeros: test_kinds_and_values_of_results test_results_are_the_reference_s test_readers",
    "6.6 probe": "lazy: test_conj_is_a_view_with_the_bit test_writing_to_a_conjugate_view_stores_the_conjugate"
    " test_out_arguments test_copies_between_views test_parts_of_a_conjugate_view test_negative_views test_views_keep_the_bits"
    " test_memory_is_not_handed_out",
    # 6.8: meta and fake tensors
    "M1": "meta db: test_meta_agrees_with_real; fake models: test_meta_training_looks_like_real_training;"
    " fakes: test_meta_kernels_mix_with_numbers_alone",
    "M2": "custom: test_fake_impl_serves_meta_tensors; library: test_a_fake_impl_is_the_meta_kernel;"
    " meta db: test_meta_agrees_with_real",
    "M3": "table: test_missing_meta_kernel",
    "M4": "fakes: test_meta_kernels_mix_with_numbers_alone",
    "M5": "fakes: test_keys_are_those_of_the_claimed_device test_an_accelerator_without_a_number_is_number_0"
    " test_it_has_no_elements test_views_share_the_storage; fake models: test_fake_training_on_a_device_that_is_not_there",
    "M6": "fake mode: test_other_classes_are_asked_first test_real_tensors_are_refused_unless_allowed"
    " test_composites_are_taken_apart test_fake_impls_run_under_the_mode_on_fake_tensors test_operators_that_say_nothing;"
    " fake db: test_fake_run_looks_like_the_real_run; fake models: test_fake_training_looks_like_real_training",
    "M7": "fakes: test_results_are_where_the_tensors_are test_a_0_dim_cpu_tensor_defers test_mixtures_of_devices"
    " test_numbers_alone_are_on_the_cpu test_operators_that_move_their_tensors",
    "M8": "constants: test_known_elements test_unknown_elements test_values test_shapes"
    " test_writing_makes_all_aliases_unknown; symbols: test_what_data_decides test_conditions_on_data",
    "M9": "fake mode: test_real_tensors_are_refused_unless_allowed test_modes_do_not_mix"
    " test_used_outside_a_tensor_enters_its_mode_again",
    # 6.9: sparse tensors, by doubles, and quantized ones
    "Q1": "layouts: test_nothing_becomes_dense_by_itself test_layouts_in_the_order_of_their_priority",
    "Q2": "layouts: test_which_composites_reach_a_layout",
    "Q3": "layouts: test_autograd_of_a_layout_is_that_of_the_backend",
    "Q5": "quantized: test_what_keeps_the_key_and_what_is_refused test_arithmetic_is_refused_on_demand",
    # 8. debugging aids
    "U1": "trace: test_each_hop_is_a_line test_environment_variables test_indentation_recovers_from_exceptions test_details"
    " test_scopes_nest",
    "U2": "introspect: test_dump test_registrations test_dump_of_a_name_without_definition",
    "U3": "introspect: test_table test_dump_table test_reasons",
    "U4": "introspect: test_queries test_lists_of_operators test_invariants test_ambient_sets_can_be_set",
    "U5": "logging: test_lines test_a_number_is_given_once_and_dies_with_its_tensor;"
    " tools: test_lines_with_modules_and_functions",
    "U6": "flops: test_probes test_elementwise_operators_count_nothing test_formulas test_attention test_modules"
    " test_counts_agree_with_the_reference",
    "U7": "modes: test_queries",
}


def _parsed(text: str) -> tuple[str, ...]:
    found = []
    for group in text.split(";"):
        place, _, names = group.partition(":")
        found += [f"{_PLACES[place.strip()]}::{name}" for name in names.split()]
    return tuple(found)


# rule: the tests that run it, as "folder/file.py::test".
INDEX: dict[str, tuple[str, ...]] = {rule: _parsed(text) for rule, text in _RULES.items()}

# rule: what of it waits, and for which feature.
LATER = {
    "R12": "constructors of sparse, nested and opaque tensors; the key sets are theirs already",
    "R19": "kernels of the sparse factories; that BackendSelect chooses by layout is tested",
    "A5": "the ADInplaceOrView companion of the strict fallback, for native kernels, which do not exist here",
}
