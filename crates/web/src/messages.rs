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
    first_page: "First page", "首页";
    next_page: "Next page", "下一页";
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
