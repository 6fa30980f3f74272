/* Makes the tables that all blocks of the step read; when it returns, all blocks may read them. */
NOINLINE void begin_step(void) {
    const step_view *v = &block()->view;
    team *t = &block()->members;
    % slot("begin_tables", family.on_device) % for _, family in ipairs(attentions)
    team_barrier(t);
}
