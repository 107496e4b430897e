//! The words of the pages: one table, both languages side by side; a page never holds a sentence of
//! its own.

/// Makes [`Messages`] and its languages from one table.
macro_rules! messages {
    ($($name:ident: $english:literal, $chinese:literal;)*) => {
        /// All words of all pages.
        #[derive(Debug)]
        #[allow(missing_docs, reason = "the words explain themselves")]
        pub struct Messages {
            $(pub $name: &'static str,)*
        }

        /// English.
        pub const ENGLISH: Messages = Messages { $($name: $english,)* };
        /// Simplified Chinese.
        pub const CHINESE: Messages = Messages { $($name: $chinese,)* };

        #[cfg(test)]
        const ALL: &[(&str, &str, &str)] = &[$((stringify!($name), $english, $chinese),)*];
    };
}

messages! {
    language: "en", "zh";
    language_name: "English", "中文";
    languages: "Language", "语言";
    skip: "Skip to the content", "跳到正文";
    sections: "Sections", "栏目";
    pages: "Pages", "分页";
    first_page: "First page", "第一页";
    next_page: "Next page", "下一页";
    home: "Home", "首页";
    chains: "Chains", "链";
    chain: "Chain", "链";
    status: "Status", "状态";
    shards: "Shards", "分片";
    metrics: "Metrics", "指标";
    tagline: "Chain data on one sharded store", "链上数据，一个分片存储";
    serving: "Serving", "服务中";
    uptime: "Uptime", "运行时间";
    engine: "Engine", "引擎";
    place: "Place", "位置";
    format: "Format", "格式版本";
    on_disk: "On disk", "磁盘占用";
    rows: "Rows", "行数";
    since: "Store since", "存储建于";
    last_hour: "The last hour", "最近一小时";
    disk_chart: "Bytes on disk", "磁盘字节数";
    batch_chart: "Mean time to write and sync a batch", "写入并落盘一批数据的平均时间";
    no_samples: "The first measurements come in a few seconds.", "几秒后将有第一批测量值。";
    tables: "Tables", "数据表";
    table: "Table", "表";
    placement: "Placement", "分布方式";
    writes: "Writes", "写入方式";
    partitions: "Partitions", "分区数";
    bytes: "Bytes", "字节";
    verdict: "Placement is", "分布评价";
    counted_at: "Counted by walking the store, at", "遍历存储统计，时间";
    counting: "Rows are being counted; load the page again in a moment.",
        "正在统计行数，请稍后刷新。";
    shards_note: "Why, and what to do: the shard report", "原因与对策：分片报告";
    measurements: "The engine's measurements", "引擎测量值";
    measurements_note: "Since this start. Programs read them at", "自本次启动起。程序可读取";
    starts: "Starts", "启动记录";
    number: "Number", "编号";
    time: "Time", "时间";
    version: "Version", "版本";
    process: "Process", "进程";
    this_start: "this one", "本次";
    not_found: "There is no such page", "没有这个页面";
    not_found_advice: "The address may be misspelt. The status page leads everywhere.",
        "地址可能有误。状态页可通往各处。";
    failed: "This page could not be made", "无法生成此页面";
    failed_advice: "The server's log says more. The store says:", "详情见服务器日志。存储返回：";
    report_coming: "The shard report is being made", "正在生成分片报告";
    report_advice: "The store is large and is walked once. Load the page again in a moment.",
        "存储较大，正在遍历。请稍后刷新。";
    back: "Ostrakon status", "返回状态页";

    api: "API", "接口";
    search: "Search", "搜索";
    search_hint: "Hash, height, address, chain, project", "哈希、高度、地址、链、项目";
    search_none: "Nothing was found", "没有找到";
    search_none_advice: "Try a whole hash, a height, an address, or the beginning of a name.",
        "请输入完整的哈希、高度、地址或名称开头。";
    search_empty: "What are you looking for?", "您要找什么？";
    search_failed: "This cannot be searched for", "无法搜索此内容";
    found: "Found", "搜索结果";
    kind: "Kind", "类型";
    name: "Name", "名称";
    network: "Network", "网络";
    nodes: "Nodes", "节点";
    node: "Node", "节点";
    tip: "Tip", "最新高度";
    tip_since: "Since", "始于";
    answered_in: "Answered in", "响应时间";
    weight: "Weight", "权重";
    priority: "Priority", "优先级";
    source: "Comes from", "来源";
    from_configuration: "the configuration", "配置文件";
    from_api: "the API", "接口";
    served: "served", "服务中";
    not_served: "not served", "未服务";
    asking: "not asked yet", "尚未询问";
    no_chains: "There are no chains yet", "还没有链";
    no_chains_advice: "Add one to the configuration, or by API as an operator.",
        "请在配置文件中添加，或由运营者通过接口添加。";
    no_nodes: "This chain has no nodes", "此链没有节点";
    no_nodes_advice: "Its rows are still served. Give it a node to follow its tip.",
        "其数据仍可查询。请为其添加节点以跟踪最新高度。";
    all_chains: "All chains", "全部链";

    hero: "Every chain, one store", "所有链，一个存储";
    hero_lead: "Explore, follow and build on chain data, never torn and never counted twice.",
        "浏览、跟踪并构建：数据永不撕裂，永不重复计数。";
    live: "Live", "实时";
    live_note: "What happens, as it happens. Programs follow it at", "实时事件。程序可订阅";
    no_events: "Nothing has happened yet", "尚无事件";
    no_events_advice: "Events appear here by themselves.", "事件会自动出现在这里。";
    events_told: "Events told", "事件总数";
    projects_all: "Projects", "项目总数";

    log_in: "Log in", "登录";
    log_out: "Log out", "退出";
    register: "Register", "注册";
    account: "Account", "账户";
    password: "Password", "密码";
    password_rule: "10 to 256 characters", "10 至 256 个字符";
    name_rule: "3 to 32 letters, digits and . - _", "3 至 32 个字母、数字和 . - _";
    have_account: "You have an account already?", "已有账户？";
    no_account: "You have no account yet?", "还没有账户？";
    login_wrong: "The name or the password is wrong.", "名称或密码错误。";
    login_throttled: "Too many attempts. Seconds to wait:", "尝试次数过多。请等待（秒）：";
    login_busy: "Too many logins at the moment. Try again in a few seconds.", "当前登录过多，请几秒后重试。";
    name_taken: "The name is taken. Choose another, or log in.", "名称已被使用。请换一个，或登录。";
    name_bad: "Use a name of 3 to 32 letters, digits and . - _ with none of these at its ends.",
        "名称须为 3 至 32 个字母、数字和 . - _，首尾为字母或数字。";
    password_short: "Use a password of 10 to 256 characters.", "密码须为 10 至 256 个字符。";
    password_weak: "This password is guessed first. Choose another.", "此密码过于常见，请换一个。";
    went_wrong: "That did not work", "操作未成功";
    session_ended: "Your session has ended. Log in again.", "会话已结束，请重新登录。";
    role: "Role", "角色";
    role_user: "user", "用户";
    role_operator: "operator", "运营者";
    member_since: "Member since", "注册时间";
    your_projects: "Projects", "项目";
    project: "Project", "项目";
    no_projects: "You have no projects yet", "您还没有项目";
    no_projects_advice: "A project has a key for one chain; every API takes it.",
        "项目拥有某条链的密钥，所有接口通用。";
    new_project: "New project", "新建项目";
    created: "Created", "创建时间";
    updated: "Changed", "更新时间";
    create: "Create", "创建";
    rename: "Rename", "重命名";
    rotate: "New key", "更换密钥";
    rotate_note: "The old key opens nothing from then on.", "旧密钥随即失效。";
    delete: "Delete", "删除";
    delete_note: "It leaves all lists and counts, and its key opens nothing.", "将从列表与计数中移除，密钥失效。";
    tokens: "Personal tokens", "个人令牌";
    tokens_note: "For programs that act for you: Authorization: Bearer …",
        "供代表您的程序使用：Authorization: Bearer …";
    no_tokens: "You have no tokens", "您没有令牌";
    no_tokens_advice: "A token stands for you, within its scopes, until you revoke it.",
        "令牌在其权限内代表您，直至撤销。";
    new_token: "New token", "新建令牌";
    scopes: "Scopes", "权限";
    scope_read: "read", "读取";
    scope_write: "write", "写入";
    revoke: "Revoke", "撤销";
    expires: "Ends", "到期";
    never: "never", "永不";
    webhooks: "Webhooks", "网络回调";
    webhooks_note: "Events are posted to your address, in order and signed.", "事件按顺序并带签名发送到您的地址。";
    no_webhooks: "You have no webhooks", "您没有网络回调";
    no_webhooks_advice: "Give an address that begins with https://.", "请提供以 https:// 开头的地址。";
    new_webhook: "New webhook", "新建回调";
    url: "Address", "地址";
    event_kinds: "Kinds of events, with commas; empty for all", "事件类型，以逗号分隔；留空表示全部";
    delivered_to: "Delivered up to", "已送达";
    state: "State", "状态";
    delivering: "delivering", "正常";
    failing: "failing", "失败中";
    disabled: "disabled", "已停用";
    enable: "Try again", "重试";
    remove: "Remove", "移除";
    change_password: "Change the password", "修改密码";
    old_password: "Old password", "旧密码";
    new_password: "New password", "新密码";
    change: "Change", "修改";
    password_changed: "The password is changed. All other sessions have ended.", "密码已修改，其他会话均已结束。";
    secret_once: "Copy it now. It is shown this once.", "请立即复制，仅显示一次。";
    your_key: "The key of the project", "项目密钥";
    your_token: "The token", "令牌";
    your_secret: "The secret that signs deliveries", "签名密钥";
    give_role: "Give the role", "授予角色";

    explorer: "Explorer", "浏览器";
    overview: "Overview", "概览";
    epochs: "Epochs", "纪元";
    epoch: "Epoch", "纪元";
    blocks: "Blocks", "区块";
    block: "Block", "区块";
    transactions: "Transactions", "交易";
    transaction: "Transaction", "交易";
    miners: "Miners", "矿工";
    miner: "Miner", "矿工";
    accounts: "Accounts", "地址数";
    address: "Address", "地址";
    pivot_chain: "Pivot chain", "主轴链";
    pivot: "pivot", "主轴";
    pivot_block: "Pivot block", "主轴区块";
    tree_graph: "Tree-graph", "树图";
    charts: "Charts", "图表";
    journal: "Journal", "切换日志";
    mined: "mined", "已挖出";
    executed: "executed", "已执行";
    confirmed: "confirmed", "已确认";
    finalized: "finalized", "已终结";
    newest_mined: "Mined epoch", "已挖出纪元";
    newest_executed: "Executed epoch", "已执行纪元";
    newest_confirmed: "Confirmed epoch", "已确认纪元";
    newest_finalized: "Finalized epoch", "已终结纪元";
    in_epoch: "in an epoch", "在纪元中";
    skipped: "skipped", "被跳过";
    orphaned: "orphaned", "孤块";
    newest_epochs: "The newest epochs", "最新纪元";
    all_epochs: "All epochs", "全部纪元";
    latest_difficulty: "Difficulty of the last {} blocks", "最近 {} 个区块的难度";
    latest_tps: "TPS of the last {} blocks", "最近 {} 个区块的每秒交易数";
    new_transactions: "New transactions", "新交易";
    newer: "← Newer", "← 更新";
    older: "Older →", "更早 →";
    newest: "Newest", "最新";
    oldest: "Oldest", "最早";
    previous: "← Previous", "← 上一个";
    following: "Next →", "下一个 →";
    order: "Order", "次序";
    skipped_blocks: "Skipped blocks", "被跳过的区块";
    skipped_note: "They belong to this epoch, which has too many blocks, and are not executed.",
        "它们属于此纪元，但纪元区块过多，未被执行。";
    parent: "Parent", "父区块";
    referees: "References", "引用区块";
    gas_used: "Gas used", "已用燃料";
    all_fields: "All fields", "全部字段";
    fields_note: "Under the names that the node gives them.", "采用节点所用的字段名。";
    field: "Field", "字段";
    value: "Value", "值";
    sender: "From", "发送方";
    recipient: "To", "接收方";
    creates_contract: "new contract", "新合约";
    outcome: "Outcome", "结果";
    succeeded: "succeeded", "成功";
    failed_execution: "failed", "失败";
    not_executed: "pending", "待执行";
    genesis_outcome: "stands in the first epoch", "位于首个纪元";
    fee: "Fee", "费用";
    receipt: "Receipt", "收据";
    receipt_none: "There is no receipt yet", "尚无收据";
    receipt_none_advice: "It comes when the epoch is executed, some epochs after it is mined.",
        "纪元被执行后即有收据，通常在挖出几个纪元之后。";
    logs: "Logs", "日志";
    first_block: "First block", "首个打包区块";
    executing_block: "Executing block", "执行区块";
    packings: "Packings", "打包记录";
    packings_note: "Blocks of the chain that pack it, in order. The first one counts.",
        "链上打包此交易的区块，按次序排列，以首个为准。";
    not_packed: "not packed now", "当前未打包";
    contract_created: "Contract created", "所创建合约";
    place_in_block: "Place", "位置";
    direction: "Direction", "方向";
    every_direction: "All", "全部";
    incoming: "in", "转入";
    outgoing: "out", "转出";
    to_itself: "self", "自转";
    creating: "create", "创建";
    hex_form: "Hexadecimal", "十六进制";
    base32_form: "Base32", "Base32 格式";
    as_account: "Its transactions", "其交易";
    as_miner: "Its blocks", "其区块";
    share: "Share", "占比";
    switches: "Switches", "切换";
    switch: "Switch", "切换";
    popped: "Popped", "弹出";
    pushed: "Pushed", "压入";
    depth: "Depth", "深度";
    difficulty: "Difficulty", "难度";
    popped_epochs: "Epochs that left the chain", "离开链的纪元";
    popped_blocks: "Their blocks, and where each stands now", "其区块及当前位置";
    popped_transactions: "Their transactions, and where each went", "其交易及去向";
    was_in_epoch: "Was in epoch", "原纪元";
    now_in_epoch: "Now in epoch", "现纪元";
    now_in_block: "Now in block", "现区块";
    from_epoch: "From epoch", "起始纪元";
    to_epoch: "to epoch", "终止纪元";
    show: "Show", "显示";
    graph_legend: "Legend", "图例";
    other_block: "other block of the epoch", "纪元内其他区块";
    ghost: "orphaned by a switch", "因切换成为孤块";
    parent_edge: "parent", "父边";
    referee_edge: "reference", "引用边";
    graph_table: "The same as a table", "以表格显示";
    more_blocks: "more blocks in this epoch", "个区块未显示";
    last_blocks: "The last blocks:", "最近区块数：";
    tps_chart: "Transactions per second", "每秒交易数";
    difficulty_chart: "Mean difficulty of a block", "区块平均难度";
    block_time_chart: "Seconds between blocks", "出块间隔（秒）";
    charts_note: "Each point is the difference of two sums, so that any span costs the same.",
        "每点为两行累计值之差，任意跨度的代价相同。";
    no_blocks: "There are no blocks here yet", "此处还没有区块";
    no_blocks_advice: "They appear by themselves when the node tells of them.", "节点报告后会自动出现。";
    no_epochs: "There are no epochs yet", "还没有纪元";
    no_transactions: "There are no transactions here", "此处没有交易";
    no_transactions_advice: "They appear when a block of the chain packs one.", "链上区块打包交易后即会出现。";
    no_miners: "There are no miners yet", "还没有矿工";
    no_switches: "The pivot has not switched yet", "主轴尚未切换过";
    no_switches_advice: "A switch is written down the moment it pops an epoch.", "弹出纪元的切换会立即记录在此。";
    none_in_direction: "None of the transactions looked through is of this kind",
        "已查看的交易中没有此类";
    none_in_direction_advice: "Go on to older ones, or choose another direction.",
        "请继续查看更早的交易，或选择其他方向。";
    not_explored: "This chain has no explorer", "此链没有浏览器";
    not_explored_advice: "Chains of the kind Conflux are explored while they are served.",
        "仅类型为 Conflux 且正在服务的链有浏览器。";
    no_such_block: "This block is not known", "未知区块";
    no_such_transaction: "This transaction is not known", "未知交易";
    no_such_hash_advice: "Check the hash. If it is very new, load the page again in a moment.",
        "请核对哈希。若刚刚产生，节点可能尚未报告，请稍后刷新。";
    no_such_epoch: "This epoch is not mined yet", "此纪元尚未挖出";
    no_such_epoch_advice: "Choose a lower number, or wait until it is mined. The newest is",
        "请选择较小的编号，或等待其被挖出。最新纪元为";
    no_such_switch: "This switch popped nothing", "此切换未弹出任何纪元";
    no_such_switch_advice: "The journal lists the switches that popped epochs; choose one there.",
        "切换日志列出了弹出纪元的切换，请从中选择。";
    bad_number: "This is not a number", "不是有效编号";
    bad_number_advice: "Write a whole number in digits, such as 17.", "请用数字书写整数，例如 17。";
    bad_hash: "This is not a hash", "不是有效哈希";
    bad_hash_advice: "Write 0x and 64 hexadecimal digits.", "请输入 0x 加 64 位十六进制数字。";
    bad_address: "This is not an address", "不是有效地址";
    bad_address_advice: "Write 0x and 40 hexadecimal digits, or base32 such as cfx:aa… as a whole.",
        "请输入 0x 加 40 位十六进制数字，或完整的 base32 地址，如 cfx:aa…。";
    bad_range: "These epochs cannot be drawn", "无法绘制这些纪元";
    bad_range_advice: "Let the first be at or below the last, and take at most 200 epochs.",
        "起始纪元不得大于终止纪元，且最多 200 个纪元。";
    bad_choice: "This cannot be chosen here", "此处无此选项";
    bad_choice_advice: "Take one of the links of the page.", "请使用页面上的链接。";
    to_the_chain: "To the chain's page", "前往链页面";

    staking: "Staking", "质押";
    staking_lead: "Bitcoin staking. Every event counts once, however often it is told.",
        "比特币质押。每个事件无论通知多少次，只计一次。";
    active_tvl: "Active TVL", "有效锁仓量";
    total_tvl: "Total TVL", "累计锁仓量";
    unconfirmed_tvl: "TVL with unconfirmed", "含未确认锁仓量";
    pending_tvl: "Pending TVL", "待确认锁仓量";
    active_delegations: "Active delegations", "有效委托";
    total_delegations: "All delegations", "全部委托";
    active_stakers: "Active stakers", "有效质押者";
    total_stakers: "All stakers", "全部质押者";
    bitcoin_height: "Bitcoin height", "比特币高度";
    over_heights: "Over the heights of Bitcoin", "随比特币高度变化";
    over_heights_note: "From the first stake to the newest height that anybody told of.",
        "自首笔质押至已知的最新高度。";
    providers: "Finality providers", "最终性提供者";
    provider: "Finality provider", "最终性提供者";
    stakers: "Stakers", "质押者";
    staker: "Staker", "质押者";
    delegations: "Delegations", "委托";
    delegation: "Delegation", "委托";
    top_providers: "Top finality providers", "锁仓量最高的最终性提供者";
    all_providers: "All finality providers", "全部最终性提供者";
    top_stakers: "Top stakers", "锁仓量最高的质押者";
    messages: "Messages since this start", "本次启动以来的消息";
    messages_note: "Those that this process took. What comes twice changes nothing.",
        "由本进程接收。重复的消息不产生任何变化。";
    applied: "Applied", "已应用";
    repeated: "Known already", "重复";
    parked: "Waiting for an earlier one", "等待更早的消息";
    unprocessable: "Unprocessable", "无法处理";
    not_taken: "To be sent again", "待重新发送";
    public_key: "Public key", "公钥";
    taproot_address: "Taproot address", "Taproot 地址";
    off_the_curve: "none: the key is not on the curve", "无：公钥不在曲线上";
    amount: "Amount", "金额";
    height: "Height", "高度";
    start_height: "Start height", "起始高度";
    end_height: "End height", "结束高度";
    timelock: "Timelock", "时间锁";
    for_blocks: "{} blocks", "{} 个区块";
    every_state: "All", "全部";
    state_active: "active", "质押中";
    state_unbonding_requested: "unbonding requested", "已申请解绑";
    state_unbonding: "unbonding", "解绑中";
    state_unbonded: "unbonded", "已解绑";
    state_withdrawn: "withdrawn", "已提取";
    state_slashed: "slashed", "已罚没";
    state_unknown: "waits for its stake", "等待质押";
    staking_expired: "the stake's timelock passed", "质押时间锁已过";
    unbonding_expired: "the unbonding's timelock passed", "解绑时间锁已过";
    overflow: "Overflow", "超额";
    overflow_note: "It came when no more was taken, and counts for nothing.",
        "提交时额度已满，不计入统计。";
    history: "History", "历史";
    waits: "waits for an earlier step", "等待更早的步骤";
    stake: "Stake", "质押";
    unbonding: "Unbonding", "解绑";
    unbonding_request: "Unbonding request", "解绑申请";
    withdrawal: "Withdrawal", "提取";
    slashing: "Slashing", "罚没";
    output_index: "Output", "输出序号";
    raw_transaction: "Whole transaction", "完整交易";
    signature: "Signature", "签名";
    no_stake: "The stake is not known yet", "质押尚未知";
    no_stake_advice: "Later steps came first. They count once the stake is told.",
        "后续步骤先到，待收到质押后计入。";
    lock_records: "Lock records", "锁定记录";
    lock_note: "Which sums the stake was added to (active) and taken out of again (unbonded).",
        "质押已计入（active）及已移出（unbonded）的各项统计。";
    calculation: "Calculation", "计算";
    of_overall: "Everything together", "总体统计";
    of_provider: "Its finality provider", "所属最终性提供者";
    of_staker: "Its staker", "所属质押者";
    of_heights: "By height", "按高度统计";
    performed: "performed", "已完成";
    not_performed: "not performed", "未完成";
    no_delegations: "There are no delegations yet", "还没有委托";
    no_delegations_advice: "Name a broker in [staking.rabbitmq] of the configuration, or let an \
        operator send events with POST /api/staking/events.",
        "请在配置的 [staking.rabbitmq] 中填写消息代理，或由运营者通过 POST /api/staking/events 发送事件。";
    no_providers: "There are no finality providers yet", "还没有最终性提供者";
    no_stakers: "There are no stakers yet", "还没有质押者";
    with_first_delegation: "They appear with the first delegation.", "出现首笔委托后即会显示。";
    none_in_state: "None of the delegations looked through is in this state",
        "已查看的委托中没有处于此状态的";
    none_in_state_advice: "Go on to the next page, or choose another state.",
        "请查看下一页，或选择其他状态。";
    no_such_delegation: "This delegation is not known", "未知委托";
    no_such_provider: "Nobody staked with this finality provider", "没有人向此提供者质押";
    no_such_staker: "This key has never staked", "此公钥从未质押";
    no_such_staking_advice: "Check the digits. If it is very new, load the page again in a moment.",
        "请核对数字。若刚刚产生，请稍后刷新。";
    bad_key: "This is not a public key", "不是有效公钥";
    bad_key_advice: "Write 64 hexadecimal digits.", "请输入 64 位十六进制数字。";
    bad_cursor: "The list does not go on here", "列表无法从此处继续";
    bad_cursor_advice: "Begin again with its first page.", "请从第一页重新开始。";
    to_staking: "To the staking page", "前往质押页面";
    unprocessable_lead: "Kept with their reasons, until somebody replays or drops them.",
        "连同原因一并保存，直至重放或丢弃。";
    kept: "Kept", "保存时间";
    reason: "Reason", "原因";
    message: "Message", "消息";
    replay: "Replay", "重放";
    replay_page: "Replay all on this page", "重放本页全部";
    drop: "Drop", "丢弃";
    replayed: "Taken: {taken}. Still unprocessable: {left}. Gone already: {gone}.",
        "已接收：{taken}。仍无法处理：{left}。已不存在：{gone}。";
    dropped: "The message is dropped for good.", "消息已永久丢弃。";
    still_unprocessable: "It still cannot be applied, and stays:", "仍无法应用，继续保存：";
    message_gone: "This message is gone already.", "此消息已不存在。";
    bad_message: "This is not the name of a message. Use the buttons of the page.",
        "不是有效的消息标识，请使用页面上的按钮。";
    store_busy: "The store did not take it. Try again in a moment.", "存储未接收，请稍后重试。";
    no_unprocessable: "Every message could be applied", "所有消息均已应用";
    no_unprocessable_advice: "What cannot be applied stands here, with its reason.",
        "无法应用的消息会连同原因显示在此。";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_is_translated() {
        for (name, english, chinese) in ALL {
            assert!(!english.is_empty() && !chinese.is_empty(), "{name} is empty");
            assert_ne!(english, chinese, "{name} is not translated");
            let translated = !chinese.is_ascii();
            assert!(translated || *name == "language", "{name}: {chinese}");
        }
    }
}
